"""Files to upload: what is declared about them, and how they are read."""

from __future__ import annotations

import io
import mimetypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

UploadFile: TypeAlias = "str | os.PathLike[str] | bytes | IO[bytes]"
"""The path of a file, its bytes, or a stream that is open for reading. A stream is read from where it stands."""

_CHUNK_BYTES = 65_536


@dataclass(frozen=True)
class UploadProgress:
    """How much of a file was sent. A repeated upload starts at 0 again."""

    sent_bytes: int
    total_bytes: int


OnProgress: TypeAlias = Callable[[UploadProgress], object]


class Source:
    """A file that is declared, and then read once for each attempt."""

    def __init__(self, file: UploadFile, mime_type: str | None, file_name: str | None, size_bytes: int | None) -> None:
        self._file = file
        self._start = 0
        name: str | None = None
        self.can_repeat = True
        if isinstance(file, bytes):
            size = len(file)
        elif isinstance(file, (str, os.PathLike)):
            path = Path(file)
            if not path.is_file():
                raise ValueError(f"{path} is not a file.")
            size, name = path.stat().st_size, path.name
        else:
            size, name = self._measure(file, size_bytes)
        self.size_bytes = size
        self.name = file_name or name
        self.mime_type = mime_type or mimetypes.guess_type(self.name or "")[0] or "application/octet-stream"
        self.failure: BaseException | None = None

    def _measure(self, stream: IO[bytes], size_bytes: int | None) -> tuple[int, str | None]:
        path = getattr(stream, "name", None)
        name = os.path.basename(path) if isinstance(path, str) else None
        self.can_repeat = stream.seekable()
        if self.can_repeat:
            self._start = stream.tell()
            end = stream.seek(0, io.SEEK_END)
            stream.seek(self._start)
            return end - self._start, name
        if size_bytes is None:
            raise ValueError("Pass `size_bytes`: the size of a stream that cannot seek is not known.")
        return size_bytes, name

    def chunks(self, on_progress: OnProgress | None) -> Iterator[bytes]:
        """The bytes. What goes wrong here is no connection's fault, so it is kept in `failure`."""
        sent = 0
        try:
            if on_progress:
                on_progress(UploadProgress(0, self.size_bytes))
            with self._open() as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    sent += len(chunk)
                    if sent > self.size_bytes:
                        raise ValueError(f"The file has more than the {self.size_bytes} bytes that were declared.")
                    yield chunk
                    if on_progress:
                        on_progress(UploadProgress(sent, self.size_bytes))
            if sent < self.size_bytes:
                raise ValueError(f"The file has {sent} bytes, but {self.size_bytes} were declared.")
        except Exception as error:
            self.failure = error
            raise

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        file = self._file
        if isinstance(file, bytes):
            yield io.BytesIO(file)
        elif isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as stream:
                yield stream
        else:
            if self.can_repeat:
                file.seek(self._start)
            yield file
