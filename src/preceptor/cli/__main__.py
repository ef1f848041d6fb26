"""`python -m preceptor.cli` is the `preceptor` command."""

from preceptor.cli import main

if __name__ == "__main__":
    main()
