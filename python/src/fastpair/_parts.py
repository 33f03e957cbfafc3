"""Parts of tables: which there are under a path, and what is in each."""
import concurrent.futures

from . import _files, _show


class Part:
    """A part of a table: a folder, or one file of a column.

    path, rows; files: paths of the columns of strings by name; rest: path of the file of other columns
    or None; types: 'text', 'bytes' or a pyarrow type by name.
    """

    __slots__ = ("_bytes", "_positions", "_store", "_stamp", "_recorded", "files", "path", "rest", "rows", "types")

    def __init__(self, store, path, files, rest):
        self.path, self.rest = path, rest
        self._store, self._stamp = store, store.stamp([*files, *([rest] if rest else [])])
        self.files, self.types, self._bytes, self._positions = {}, {}, {}, {}
        self.rows = self._recorded = None
        for file in files:
            with _files.about(file):
                column = self._open(file)
                self._recorded = column.name
                name = _files.column_name(column, file)
                position = column.metadata.get(_files.POSITION, b"")
                self._add(name, column.type, len(column), file, position)
                self._bytes[name] = column._totals()["decoded_bytes"]
            self.files[name] = file
        if rest:
            parquet = store.open_parquet(rest)
            for field in parquet.schema_arrow:
                position = (field.metadata or {}).get(_files.POSITION.encode(), b"")
                self._add(field.name, field.type, parquet.metadata.num_rows, rest, position)

    def _rename(self, name):
        """The only column gets this name."""
        for table in (self.files, self.types, self._bytes, self._positions):
            table[name] = table.pop(next(iter(table)))

    def _open(self, file):
        return self._store.open_column(file, self._stamp)

    def _add(self, name, kind, rows, file, position):
        if name in self.types:
            raise _files.fault(f"{file}: column {name!r} is there twice, also in {self.files.get(name, self.rest)}")
        if self.rows is not None and rows != self.rows:
            before = next(iter(self.files.values()), self.rest)
            raise _files.fault(f"{file}: {rows} rows, but {before} has {self.rows}")
        self.rows = rows
        self.types[name] = kind
        self._positions[name] = int(position) if position.isdigit() and len(position) < 10 else 1 << 30

    @property
    def lead(self):
        """The largest column of strings, whose chunks are the units; None if there is none."""
        return max(self.files, key=lambda name: self._bytes[name], default=None)

    def __getitem__(self, name):
        """A column of strings as a Column."""
        return self._open(self.files[name])[:]

    def __repr__(self):
        return f"<fastpair.Part {self.path}: {_show.number(self.rows)} rows>"


class Opener:
    """Finds the parts of a table, wherever it is."""

    def __init__(self, store):
        self.store = store

    def table(self, path):
        if self.store.is_pattern(path):
            return self.listed(self.store.expand(path), path)
        if self.store.is_folder(path):
            return self.folder(path)
        return self.listed([path], path)

    def folder(self, path):
        files, rest, folders = self.store.folder(path)
        if folders and (files or rest):
            raise _files.fault(f"{path}: both columns ({_files.base(files[0] if files else rest)}) and folders "
                               f"({_files.base(folders[0])}); a table is one or the other")
        if folders:
            return self.all(self.part, folders)
        if len(files) > 1 and not rest and _files.numbered(files):
            singles = self.singles(files)
            if len({part._recorded for part in singles}) == 1:
                return self.numbered(singles)
        return [self.part(path)]

    def part(self, path):
        files, rest, folders = self.store.folder(path)
        if not files and not rest:
            raise _files.fault(f"{path}: no column is in this folder (no {_files.SUFFIX} file, no {_files.REST})")
        if folders:
            raise _files.fault(f"{path}: a part has columns in it and no folders ({_files.base(folders[0])})")
        return Part(self.store, path, files, rest)

    def all(self, work, paths):
        """work(path) of all, some at once where waiting is what takes the time."""
        if self.store.openers == 1 or len(paths) == 1:
            return [work(path) for path in paths]
        with concurrent.futures.ThreadPoolExecutor(self.store.openers) as pool:
            return list(pool.map(work, paths))

    def singles(self, files):
        """Each file a part of its own."""
        return self.all(lambda file: Part(self.store, file, [file], None), files)

    def numbered(self, parts):
        """The same as parts of one column."""
        name = parts[0]._recorded or _files.numbered([part.path for part in parts]) or "value"
        for part in parts:
            part._rename(name)
        return parts

    def listed(self, paths, what):
        if not paths:
            raise _files.fault(f"{what}: no file or folder of a table")
        folders = [path for path in paths if self.store.is_folder(path)]
        if len(folders) == len(paths):
            return self.all(self.part, paths)
        if folders:
            raise _files.fault(f"{what}: both files ({next(p for p in paths if p not in folders)}) and folders "
                               f"({folders[0]}); a table is one or the other")
        parts = self.singles(paths)
        names = {part._recorded for part in parts}
        if len(parts) == 1:
            return parts
        if len(names) == 1:
            return self.numbered(parts)
        above = {path.rpartition("/")[0] for path in paths}
        if len(names) == len(paths) and None not in names and len(above) == 1:
            return [Part(self.store, above.pop() or ".", paths, None)]
        raise _files.fault(f"{what}: files of different columns ({', '.join(sorted(map(str, names))[:5])}); parts of a "
                           "table are files of one column, or folders")


def check_same(parts):
    """Raises unless all parts have the same columns."""
    first = parts[0]
    for part in parts[1:]:
        for name in first.types:
            if name not in part.types:
                raise _files.fault(f"{part.path}: no column {name!r}, which {first.path} has")
            if part.types[name] != first.types[name]:
                raise _files.fault(f"{part.files.get(name, part.rest)}: column {name!r} is of type {part.types[name]}, "
                                   f"but of type {first.types[name]} in {first.path}")
        for name in part.types:
            if name not in first.types:
                raise _files.fault(f"{part.path}: column {name!r}, which {first.path} has not")
