"""`python -m preceptor` is the `preceptor` command."""

from preceptor.cli import main

if __name__ == "__main__":
    main()
