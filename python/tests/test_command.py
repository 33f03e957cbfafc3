"""python -m fastpair, and what is installed with the package."""
import ast
import importlib.metadata
import inspect
import pathlib
import subprocess
import sys

import pytest

import fastpair as fp


def run(*arguments, module="fastpair", **options):
    return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, **options)


def test_the_command(tmp_path):
    (tmp_path / "rows").write_text("one\ntwo\nthree\n")
    assert run(str(tmp_path / "rows")).returncode == 0
    assert fp.open(tmp_path / "rows.fpc").to_pylist() in (["one", "two", "three"], [b"one", b"two", b"three"])
    assert run("-dc", str(tmp_path / "rows.fpc")).stdout == b"one\ntwo\nthree\n"
    assert run("-t", str(tmp_path / "rows.fpc")).returncode == 0
    assert run("--nonsense").returncode not in (0, -11)


def test_fpgrep(tmp_path):
    fp.write(tmp_path / "rows.fpc", ["one", "two", "three"])

    def search(*arguments):
        done = run(*arguments, str(tmp_path / "rows.fpc"), module="fastpair.fpgrep")
        return done.returncode, done.stdout

    assert search("-n", "t") == (0, b"2:two\n3:three\n")
    assert search("-c", "e") == (0, b"2\n")
    assert search("absent") == (1, b"")
    assert search("--nonsense", "t")[0] == 2


@pytest.mark.parametrize("name", ["fastpair", "fpgrep"])
def test_the_script(name):
    script = pathlib.Path(sys.executable).with_name(name)
    if not script.exists():
        pytest.skip("scripts are not installed here")
    assert fp.__version__.encode() in subprocess.run([script, "--version"], capture_output=True).stdout


def test_versions():
    assert importlib.metadata.version("fastpair") == fp.__version__
    assert not importlib.metadata.requires("fastpair")


def stub():
    path = pathlib.Path(fp.__file__).with_name("__init__.pyi")
    return ast.parse(path.read_text())


def test_stubs_name_what_there_is():
    """Every public name is in the stubs, with the same parameters, and the other way round."""
    tree = stub()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    assert {*functions, *classes} >= set(fp.__all__)
    for name in fp.__all__:
        real = getattr(fp, name)
        if name in functions:
            assert parameters(functions[name]) == list(inspect.signature(real).parameters), name
            assert real.__doc__
        else:
            listed = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
            listed |= {node.target.id for node in classes[name].body if isinstance(node, ast.AnnAssign)}
            for member in listed:
                assert hasattr(real, member) or member in ("results", "rows", "nbytes"), f"{name}.{member}"
            missing = {m for m in dir(real) if not m.startswith("_")} - listed - set(dir(ValueError)) - set(dir(tuple))
            assert not missing, f"{name}: {missing}"
            assert real.__doc__
            for node in classes[name].body:
                real_member = getattr(real, getattr(node, "name", ""), None)
                if isinstance(node, ast.FunctionDef) and inspect.isfunction(real_member) and not node.name.startswith("_"):
                    assert parameters(node) == list(inspect.signature(real_member).parameters), f"{name}.{node.name}"


def parameters(node):
    a = node.args
    names = [x.arg for x in a.posonlyargs + a.args] + ([a.vararg.arg] if a.vararg else [])
    return names + [x.arg for x in a.kwonlyargs] + ([a.kwarg.arg] if a.kwarg else [])


def test_typed():
    assert pathlib.Path(fp.__file__).with_name("py.typed").exists()


def test_every_import_is_the_standard_library():
    """Without a single other package: nothing is needed at run time."""
    script = "import sys; sys.modules['numpy'] = sys.modules['pyarrow'] = None; import fastpair as fp; " \
             "c = fp.open(fp.compress(['a', None])); print(c.to_pylist(), c.take([0]), c.count(contains='a'), c.info)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "['a', None]" in done.stdout
