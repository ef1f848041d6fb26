"""Writing files: whole or not at all, together or not at all, never over a device."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

import preceptor as pr
from preceptor._base.files import (
    check_ending,
    check_writable,
    is_device,
    same_file,
    write_all,
    write_bytes,
    write_text,
)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual_mask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_new_files_follow_the_mask_and_private_ones_are_the_owners(tmp_path, usual_mask):
    write_text(tmp_path / "new", "a")
    write_text(tmp_path / "private", "a", private=True)
    assert mode_of(tmp_path / "new") == 0o640
    assert mode_of(tmp_path / "private") == 0o600


@pytest.mark.parametrize("private", [False, True])
def test_what_is_replaced_keeps_its_mode(tmp_path, usual_mask, private):
    target = tmp_path / "there"
    target.write_text("before")
    target.chmod(0o664)
    write_text(target, "after", private=private)
    assert (target.read_text(), mode_of(target)) == ("after", 0o664)


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("before")
    (tmp_path / "link").symlink_to(Path("real") / "file")
    write_text(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "after"
    (tmp_path / "dangling").symlink_to("made")
    write_text(tmp_path / "dangling", "new")
    assert (tmp_path / "dangling").is_symlink()
    assert (tmp_path / "made").read_text() == "new"
    assert sorted(p.name for p in (tmp_path / "real").iterdir()) == ["file"]


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(pr.InvalidFile, match="loop: is a link that leads to itself"):
        write_text(tmp_path / "loop", "a")


def test_devices_are_written_through(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", lambda *_: pytest.fail("renamed over a device"))
    before = Path(os.devnull).stat()
    write_text(os.devnull, "gone")
    check_writable(os.devnull)
    after = Path(os.devnull).stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


def test_a_pipe_is_written_through_if_somebody_reads(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "hello")
    assert os.read(reader, 99) == b"hello"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_is_larger_than_a_pipe_holds_arrives_whole(tmp_path):
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)

    def listen():
        while part := os.read(reader, 65536):
            heard.append(part)

    thread = threading.Thread(target=listen)
    content = os.urandom(300_000)
    write_fd = os.open(pipe, os.O_WRONLY)  # so that the reader waits instead of ending
    thread.start()
    write_bytes(pipe, content)
    os.close(write_fd)
    thread.join()
    os.close(reader)
    assert b"".join(heard) == content


def test_a_descriptor_is_written_and_not_what_is_behind_it(tmp_path):
    with (tmp_path / "out").open("wb") as file:
        file.write(b"before ")
        file.flush()
        there = os.fstat(file.fileno()).st_ino
        name = f"/dev/fd/{file.fileno()}"
        assert is_device(name)
        write_text(name, "through")
        file.write(b" after")
    assert (tmp_path / "out").read_text() == "before through after"
    assert (tmp_path / "out").stat().st_ino == there


def test_nothing_is_replaced_before_everything_is_on_the_disk(tmp_path, monkeypatch):
    one, other, fsync = tmp_path / "one", tmp_path / "other", os.fsync
    one.write_text("1")
    synced = []

    def full(handle):
        synced.append(handle)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(pr.InvalidFile, match="other: the disk is full"):
        write_all({one: b"a", other: b"b"})
    assert one.read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    monkeypatch.undo()
    write_all({one: b"a", other: b"b"})
    assert [path.read_text() for path in (one, other)] == ["a", "b"]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "plan.json: the disk is full"),
        (errno.EDQUOT, "plan.json: your disk quota"),
        (errno.EROFS, "plan.json: the disk is read-only"),
        (errno.EIO, r"plan.json: cannot be written \(Input/output error\)"),
    ],
)
def test_what_the_disk_says_names_the_file(tmp_path, monkeypatch, code, words):
    def broken(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", broken)
    (tmp_path / "plan.json").write_text("before")
    with pytest.raises(pr.InvalidFile, match=words):
        write_text(tmp_path / "plan.json", "after")
    assert (tmp_path / "plan.json").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_it_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    order, replace, fsync = [], Path.replace, os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), fsync(handle)))
    monkeypatch.setattr(Path, "replace", lambda *a: (order.append("rename"), replace(*a)))
    write_text(tmp_path / "file", "a")
    assert order[:2] == ["sync", "rename"]


@pytest.mark.parametrize("name", ["a" * 300, "nul\0"])
def test_names_that_cannot_be_files(tmp_path, name):
    with pytest.raises(pr.InvalidFile):
        write_text(tmp_path / name, "a")
    write_text(tmp_path / ("a" * 250), "a longest name has room for no addition")


def test_a_protected_file_stays(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("before")
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, m: Path(p).name != "file" and access(p, m))
    with pytest.raises(pr.InvalidFile, match="file: is write-protected"):
        write_text(tmp_path / "file", "after")


def test_files_are_the_same_by_links_and_by_capitals(tmp_path):
    one = tmp_path / "one"
    one.write_text("a")
    (tmp_path / "soft").symlink_to("one")
    (tmp_path / "hard").hardlink_to(one)
    (tmp_path / "other").write_text("a")
    assert same_file(one, tmp_path / "soft")
    assert same_file(tmp_path / "hard", tmp_path / "soft")
    assert same_file(one, tmp_path / "x" / ".." / "one") is False  # no such folder
    assert not same_file(one, tmp_path / "other")
    assert not same_file(one, tmp_path / "new")
    assert same_file(tmp_path / "new", tmp_path / "NEW")
    assert not same_file(os.devnull, os.devnull)


def test_endings(tmp_path):
    check_ending(tmp_path / "a.JSON", (".json",))
    check_ending(os.devnull, (".json",))
    with pytest.raises(pr.InvalidFile, match=r"ends in '\.txt', must end in \.html or \.htm"):
        check_ending(tmp_path / "a.txt", (".html", ".htm"))
