"""Reads Python sources as data and prints what they say, one line of JSON for each file.

Standard input has, for each file, a line of JSON with its module, whether the module is a package, and
the number of bytes of its source; the source follows. Nothing of a source is imported or run.
"""

import ast
import inspect
import json
import math
import re
import sys
import warnings

DTYPE = re.compile(r"(b?float|u?int|bool|bfloat)[0-9]+(_e[0-9]+m[0-9]+[a-z]*)?\Z")
# Calls whose result is not what their argument is.
OTHER = {"len", "type", "id", "hash", "isinstance", "hasattr", "repr", "range", "enumerate", "zip", "iter", "next", "super", "getattr"}


GETTER = re.compile(r"_?get_\w*(func|method)\w*\Z")


def dotted(node):
    """Returns a.b.c for such an expression, "" for others.

    It is "@name" for get_global_func("name") and the like, and a.* for getattr(a, name).
    """
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base + "." + node.attr if base else ""
    if not isinstance(node, ast.Call) or not node.args:
        return ""
    callee = dotted(node.func).split(".")[-1]
    if GETTER.match(callee):
        name = string(node.args[0])
        return "@" + name if "." in name or name and callee == "get_global_func" else ""
    if callee == "getattr" and len(node.args) > 1:
        base = dotted(node.args[0])
        return base + "." + (string(node.args[1]) or "*") if base else ""
    return ""


def string(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def alternatives(node):
    """Returns the dotted names that an expression may stand for."""
    if isinstance(node, ast.IfExp):
        return alternatives(node.body) + alternatives(node.orelse)
    name = dotted(node)
    return [name] if name else []


def docstring(node):
    """Returns the docstring of a module, class or def, cleaned."""
    if node.body and isinstance(node.body[0], ast.Expr):
        return text(node.body[0].value)
    return ""


def text(node):
    """Returns the value of a string, cleaned like a docstring."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return inspect.cleandoc(node.value)
    return ""


def annotation(node, depth=0):
    """Returns an annotation as its name and its arguments, None if it is another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return None
    if depth > 20 or node is None:
        return None
    if is_none(node):
        return {"name": "None"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return {"name": "Union", "args": [annotation(node.left, depth + 1), annotation(node.right, depth + 1)]}
    if isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return {"name": dotted(node.value), "args": [annotation(n, depth + 1) for n in items]}
    name = dotted(node)
    return {"name": name} if name else None


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def constant(node):
    """Returns a default: {"value": 1}, {"of": "Kind.ROSE"} for what may be a member of an enum, None for others."""
    value = node.value if isinstance(node, ast.Constant) else Ellipsis
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        if type(node.operand.value) in (int, float):
            value = -node.operand.value
    if type(value) is int and not -(2**63) <= value < 2**63 or type(value) is float and not math.isfinite(value):
        return None  # Go has no such constant, and JSON no such number
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if isinstance(node, ast.Attribute) and dotted(node):
        return {"of": dotted(node)}
    return None


def with_defaults(args):
    """Returns the parameters that may be given by position or by name, each with its default or None."""
    plain = args.posonlyargs + args.args
    found = [None] * (len(plain) - len(args.defaults)) + args.defaults
    return list(zip(plain, found)) + list(zip(args.kwonlyargs, args.kw_defaults))


class Scope:
    """What the names in a def stand for."""

    def __init__(self, outer, node):
        self.params = dict(outer.params) if outer else {}
        self.values = {}  # the expressions that are assigned to each name
        self.aliases = dict(outer.aliases) if outer else {}
        self.receiver = outer.receiver if outer else ""
        self.klass = outer.klass if outer else ""
        if node is None:
            return
        for arg in all_args(node.args):
            self.params[arg.arg] = True
        self.absent = {arg.arg for arg, default in with_defaults(node.args) if default is not None and is_none(default)}
        self.collect(node.body)
        for name, values in self.values.items():
            found = [n for v in values if v is not None for n in alternatives(v)]
            if found and len(found) >= len(values) and name not in self.params:
                self.aliases[name] = found
        for name in self.values:
            self.params.pop(name, None)
        self.assigned = {a.arg for a in all_args(node.args)} & set(self.values)

    def collect(self, body):
        """Records the assignments in the statements of a def, but not in the defs inside."""
        todo = list(body)
        while todo:
            node = todo.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                continue
            if isinstance(node, ast.If) and self.narrows(node):
                continue
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assign(target, node.value)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                self.assign(node.target, node.value)
            elif isinstance(node, ast.AugAssign):
                self.assign(node.target, None)
            elif isinstance(node, (ast.For, ast.AsyncFor)):
                self.assign(node.target, None)
            elif isinstance(node, (ast.With, ast.AsyncWith)):
                for item in node.items:
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, None)
            todo.extend(ast.iter_child_nodes(node))

    def narrows(self, node):
        """Reports whether a statement is "if isinstance(x, int): x = [x]" for an x that is None by default."""
        test, body = node.test, node.body[0]
        return (
            isinstance(test, ast.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2 and not node.orelse
            and len(node.body) == 1 and isinstance(body, ast.Assign) and len(body.targets) == 1
            and dotted(test.args[0]) == dotted(body.targets[0]) and dotted(test.args[0]) in self.absent
        )

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.assign(item, None)


def all_args(args):
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return args.posonlyargs + args.args + args.kwonlyargs + extra


class Argument:
    """What a def passes: a name for it, and, if it is known, the parameter of the def and in which form.

    Another argument of the call may have that name: then longer is the better one.
    """

    def __init__(self, name="", param="", form="", optional=False, longer=""):
        self.name, self.param, self.form, self.optional, self.longer = name, param, form, optional, longer

    def renamed(self, name):
        return Argument(name)


def argument(node, scope, depth=0):
    """Describes an argument of a call."""
    nothing = Argument()
    if depth > 8:
        return nothing
    if isinstance(node, ast.Name):
        return named(node.id, scope, depth)
    if isinstance(node, ast.Attribute):
        base = argument(node.value, scope, depth + 1)
        if node.attr == "value":  # of an enumeration
            return Argument(base.name, base.param, "value") if base.form == "same" else base.renamed(base.name)
        if not node.attr.startswith("_"):
            return Argument(node.attr)
        if base.form == "same":
            return Argument(base.name, base.param, node.attr, base.optional)
        return base.renamed(base.name)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and DTYPE.match(node.value):
            return Argument("dtype")
        return nothing
    if isinstance(node, ast.IfExp):
        return conditional(node, scope, depth)
    if isinstance(node, ast.BoolOp):
        first = argument(node.values[0], scope, depth + 1)
        return first.renamed(first.name)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return comprehension(node, scope, depth)
    if isinstance(node, ast.Call):
        return converted(node, scope, depth)
    if isinstance(node, ast.Subscript):
        base = argument(node.value, scope, depth + 1)
        return nothing if depth == 0 and base.form == "same" else base.renamed(base.name)
    if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) == 1:
        only = argument(node.elts[0], scope, depth + 1)
        return only.renamed(only.name)
    return nothing


def named(name, scope, depth):
    """Describes a name that is passed."""
    if name == scope.receiver:
        return Argument("self", "self", "same")
    if name in scope.params:
        return Argument(name, name, "same")
    values = scope.values.get(name, [])
    if len(values) == 1 and values[0] is not None and name not in scope.assigned:
        origin = argument(values[0], scope, depth + 1)
        if origin.form:
            return origin
        if origin.name and (name.startswith(origin.name + "_") or origin.name.startswith(name + "_")):
            return Argument(origin.name, longer=name)
    return Argument(name)


def conditional(node, scope, depth):
    """Describes "None if x is None else x._handle" and the like."""
    parts = [n for n in (node.body, node.orelse) if not isinstance(n, ast.Constant)]
    if len(parts) == 1:
        part = argument(parts[0], scope, depth + 1)
        optional = is_none(node.body) or is_none(node.orelse)
        return Argument(part.name, part.param, part.form if optional else "", part.optional or optional)
    tested = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
    found = [argument(n, scope, depth + 1) for n in parts]
    names = {a.name for a in found if a.name}
    if len(names) > 1:
        names &= tested
    return Argument(names.pop()) if len(names) == 1 else Argument()


def comprehension(node, scope, depth):
    """Describes [x._handle for x in xs] and the like."""
    if len(node.generators) != 1:
        return Argument()
    loop = node.generators[0]
    over = argument(loop.iter, scope, depth + 1)
    form = ""
    if over.form == "same" and isinstance(loop.target, ast.Name) and not loop.ifs:
        item = node.elt
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == loop.target.id:
            form = "each " + item.attr if item.attr.startswith("_") else ""
        elif isinstance(item, ast.Name) and item.id == loop.target.id:
            form = "each"
    return Argument(over.name, over.param, form, over.optional)


def converted(node, scope, depth):
    """Describes convert(x) and x.convert()."""
    if isinstance(node.func, ast.Attribute) and not node.args:
        base = argument(node.func.value, scope, depth + 1)
        if node.func.attr.startswith("get_"):
            return Argument(node.func.attr[4:])
        return base.renamed(base.name)
    callee = dotted(node.func).split(".")[-1]
    if callee in OTHER or callee.lower() in OTHER or not node.args or isinstance(node.args[0], ast.Starred):
        return Argument()
    if len(node.args) > 1 and callee[:1].isupper():
        return Argument()
    first = argument(node.args[0], scope, depth + 1)
    keeps = callee in ("list", "tuple", "int", "float", "bool", "str") and len(node.args) == 1
    return Argument(first.name, first.param, first.form if keeps else "", first.optional)


class Reader(ast.NodeVisitor):
    """Collects what Go needs to know about a module."""

    def __init__(self, module, package):
        self.module, self.package = module, package
        self.imports, self.stars, self.values, self.attributes = {}, [], {}, {}
        self.classes, self.defs, self.calls, self.namespaces = [], [], [], []
        self.scope, self.where, self.inside, self.declared = Scope(None, None), [], -1, False
        self.klass, self.part = -1, "part"
        self.strings = set()  # that are arguments of calls

    def facts(self, tree):
        doc = docstring(tree)
        for node in tree.body:
            self.visit(node)
        return {
            "doc": doc, "imports": self.imports, "stars": self.stars, "values": self.values,
            "attributes": self.attributes, "classes": self.classes, "defs": self.defs,
            "calls": self.calls, "namespaces": self.namespaces, "strings": self.dynamic(),
        }

    def dynamic(self):
        """Returns the strings that may be the name in getattr(a, name)."""
        if any(c["callee"].endswith(".*") for c in self.calls):
            return sorted(s for s in self.strings if s.isidentifier())
        return []

    # Imports. They count for the whole module, wherever they are.

    def visit_Import(self, node):
        for alias in node.names:
            if alias.asname:
                self.imports[alias.asname] = alias.name
            else:
                first = alias.name.split(".")[0]
                self.imports[first] = first

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            parts = self.module.split(".")
            keep = len(parts) - node.level + (1 if self.package else 0)
            base = ".".join(parts[:max(keep, 0)] + ([base] if base else []))
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(base)
            else:
                self.imports.setdefault(alias.asname or alias.name, base + "." + alias.name)

    def visit_If(self, node):
        # What only a type checker sees is a declaration.
        declares = dotted(node.test).split(".")[-1] == "TYPE_CHECKING"
        was = self.declared
        self.declared = was or declares
        for item in node.body:
            self.visit(item)
        self.declared = was
        for item in node.orelse:
            self.visit(item)
        if not declares:
            self.visit(node.test)

    # Values of names.

    def visit_Assign(self, node):
        if self.inside < 0 and self.klass < 0 and len(node.targets) == 1:
            target, found = node.targets[0], alternatives(node.value)
            if isinstance(target, ast.Name) and found:
                self.values.setdefault(target.id, found)
            elif isinstance(target, ast.Attribute) and found and dotted(target):
                self.attributes[dotted(target)] = found[0]
        for target in node.targets:
            if isinstance(target, ast.Attribute) and dotted(target) and isinstance(node.value, ast.Call):
                self.record(node.value, ["set " + dotted(target)])
                return
        self.visit_with(node.value, ["assign"])

    def visit_AnnAssign(self, node):
        if self.klass >= 0 and self.inside < 0 and isinstance(node.target, ast.Name):
            self.classes[self.klass]["fields"].append({"name": node.target.id, "type": annotation(node.annotation), "doc": ""})
        if node.value is not None:
            self.visit_with(node.value, ["assign"])

    def visit_Expr(self, node):
        self.visit_with(node.value, ["statement"])

    def visit_Return(self, node):
        if node.value is not None:
            self.part = "return part"
            self.visit_with(node.value, ["return"])
            self.part = "part"

    def visit_with(self, node, use):
        if isinstance(node, ast.Call):
            self.record(node, use)
        else:
            self.visit(node)

    # Classes and defs.

    def visit_ClassDef(self, node):
        key, plain = "", []
        for d in node.decorator_list:
            target = d.func if isinstance(d, ast.Call) else d
            plain.append(dotted(target))
            if isinstance(d, ast.Call) and d.args and isinstance(d.args[0], ast.Constant) and isinstance(d.args[0].value, str):
                plain[-1] += " " + d.args[0].value
        self.where.append(node.name)
        was_class, was_inside = self.klass, self.inside
        self.classes.append({
            "name": ".".join(self.where), "bases": [b for b in map(dotted, node.bases) if b], "decorators": plain,
            "doc": docstring(node), "fields": [], "values": self.members(node), "line": node.lineno,
        })
        self.klass, self.inside = len(self.classes) - 1, -1
        scope, self.scope = self.scope, Scope(None, None)
        for i, item in enumerate(node.body):
            self.visit(item)
            previous = node.body[i - 1] if i > 0 else None
            if isinstance(previous, ast.AnnAssign) and isinstance(item, ast.Expr) and text(item.value) and self.classes[self.klass]["fields"]:
                self.classes[self.klass]["fields"][-1]["doc"] = text(item.value)
        self.scope = scope
        self.klass, self.inside = was_class, was_inside
        self.where.pop()

    def members(self, node):
        """Returns the members of an enum, an empty list if one of them is not a constant."""
        found = []
        for item in node.body:
            if isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
                value = constant(item.value)
                if not value or type(value.get("value")) not in (int, str):
                    return []
                found.append({"name": item.targets[0].id, "value": value["value"]})
        return found

    def visit_FunctionDef(self, node):
        decorators = [dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list]
        self.where.append(node.name)
        args = node.args
        defaults = {a.arg: constant(d) for a, d in with_defaults(args)}
        params = [{"name": a.arg, "type": annotation(a.annotation), "default": defaults[a.arg]} for a in args.posonlyargs + args.args]
        if args.vararg:
            params.append({"name": args.vararg.arg, "type": {"name": "list", "args": [annotation(args.vararg.annotation)]}, "kind": "*"})
        params += [{"name": a.arg, "type": annotation(a.annotation), "kind": "keyword", "default": defaults[a.arg]} for a in args.kwonlyargs]
        if args.kwarg:
            params.append({"name": args.kwarg.arg, "type": None, "kind": "**"})
        method = self.klass >= 0 and self.inside < 0
        self.defs.append({
            "name": ".".join(self.where), "class": self.klass if method else -1, "decorators": decorators, "doc": docstring(node),
            "params": params, "returns": annotation(node.returns), "declared": self.declared, "line": node.lineno,
        })
        was, scope = self.inside, self.scope
        self.inside = len(self.defs) - 1
        self.scope = Scope(scope, node)
        if method and "staticmethod" not in decorators and (args.posonlyargs or args.args):
            first = (args.posonlyargs + args.args)[0].arg
            if "classmethod" in decorators or node.name == "__new__":
                self.scope.klass = first
            else:
                self.scope.receiver = first
            self.scope.params.pop(first, None)
        klass = self.klass
        for item in node.body:
            self.visit(item)
        self.inside, self.scope, self.klass = was, scope, klass
        self.where.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    # Calls.

    def visit_Call(self, node):
        self.record(node, [self.part])

    def record(self, node, use):
        """Records a call, and the calls in its arguments as wrapped by it."""
        callees, args = alternatives(node.func), node.args
        if isinstance(node.func, ast.Name):
            callees = self.scope.aliases.get(node.func.id, callees)
        if not callees and isinstance(node.func, ast.Attribute):
            callees = ["?." + node.func.attr]  # of a module that an expression is, such as load().f
        last = callees[0].split(".")[-1] if callees else ""
        if last in ("init_ffi_api", "_init_api") or self.imports.get(last, "").split(".")[-1] in ("init_ffi_api", "_init_api"):
            self.namespace(args)
        if last == "__init_handle_by_constructor__" and args:
            callees, args = alternatives(args[0]), args[1:]
            if len(callees) == 1 and "." not in callees[0]:
                callees = self.scope.aliases.get(callees[0], callees)
            last = ""
            use = ["construct"] + use
        for callee in callees:
            first, dot, rest = callee.partition(".")
            if first and first == self.scope.receiver:
                callee = "self" + dot + rest
            elif first and first == self.scope.klass:
                callee = "cls" + dot + rest
            if dot or callee.startswith("@") or callee in self.imports or callee in self.values:
                self.calls.append({
                    "callee": callee, "def": self.inside, "class": self.klass, "line": node.lineno, "use": use,
                    "args": self.arguments(args), "keywords": len(node.keywords),
                })
        if not isinstance(node.func, ast.Name):
            self.visit(node.func.value if isinstance(node.func, ast.Attribute) else node.func)
        outer = ["in " + callees[0] if callees else self.part] + use
        self.strings.update(string(a) for a in node.args)
        for arg in node.args:
            if isinstance(arg, ast.Call) and len(outer) < 6:
                self.record(arg, outer)
            else:
                self.visit(arg)
        for keyword in node.keywords:
            self.visit(keyword.value)

    def arguments(self, args):
        out = []
        for arg in args:
            if isinstance(arg, ast.Starred):
                out.append({"star": True})
                continue
            a = argument(arg, self.scope)
            item = {"name": a.name, "longer": a.longer}
            if a.param and a.form:
                item.update(param=a.param, form=a.form, optional=a.optional)
            attr = arg
            while isinstance(attr, ast.Call) and len(attr.args) == 1:
                attr = attr.args[0]
            if isinstance(attr, ast.Attribute):
                base = argument(attr.value, self.scope)
                if base.name and base.name != "self":
                    item["longer"] = base.name + "_" + a.name
            out.append(item)
        return out

    def namespace(self, args):
        """Records init_ffi_api("garden", __name__)."""
        values = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in args]
        if not values or values[0] is None:
            return
        module = values[0]
        if len(args) > 1:
            module = self.module if dotted(args[1]) == "__name__" else values[1]
        if module:
            self.namespaces.append({"name": values[0], "module": module})


def read(module, package, source):
    try:
        tree = ast.parse(source.decode("utf-8-sig"))
        return Reader(module, package).facts(tree)
    except SyntaxError as e:
        version = "%d.%d" % sys.version_info[:2]  # the source may be for a newer one
        return {"error": (e.msg or "invalid syntax") + ", as Python " + version + " reads it", "line": e.lineno or 0}
    except UnicodeDecodeError as e:
        return {"error": "it is not UTF-8", "line": source[: e.start].count(b"\n") + 1}
    except ValueError as e:
        return {"error": str(e), "line": 0}
    except (RecursionError, MemoryError):
        return {"error": "it is nested too deeply", "line": 0}


def main():
    warnings.simplefilter("ignore")
    stdin, stdout = sys.stdin.buffer, sys.stdout
    while True:
        head = stdin.readline()
        if not head:
            return
        file = json.loads(head)
        facts = read(file["module"], file["package"], stdin.read(file["size"]))
        stdout.write(json.dumps(facts) + "\n")
        stdout.flush()


main()
