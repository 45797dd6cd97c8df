package packaging

import (
	"fmt"
	"regexp"
	"strings"
)

// standard lists the modules of Python's standard library, from 3.9 to 3.14.
const standard = ` abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit
 audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs
 codeop collections colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg
 crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip
 enum errno faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt
 getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
 ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap
 modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse
 os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint
 profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource
 rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
 socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct
 subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test textwrap this
 threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing
 unicodedata unittest urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc
 zipapp zipfile zipimport zlib zoneinfo `

// keywords lists the words of Python that are not names.
const keywords = ` False None True and as assert async await break class continue def del elif else except finally
 for from global if import in is lambda nonlocal not or pass raise return try while with yield `

// contains reports whether a list of words, with spaces or line ends around each, has the word.
func contains(list, word string) bool {
	return strings.Contains(strings.ReplaceAll(list, "\n", " "), " "+word+" ")
}

// CheckModule returns an error if Python cannot import a package of that name.
func CheckModule(name string) error {
	var what string
	switch {
	case contains(keywords, name):
		what = "a keyword of Python"
	case contains(standard, name):
		what = "a module of Python's standard library"
	case name == "tvm_ffi":
		what = "the Python package that the library needs"
	default:
		return nil
	}
	return fmt.Errorf("the Python package would have the name %s, which is %s: choose another with --name", name, what)
}

var (
	distributionName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	separators       = regexp.MustCompile(`[-_.]+`)
)

// CheckDistribution returns an error if name is not the name of a distribution.
func CheckDistribution(name string) error {
	if !distributionName.MatchString(name) {
		return fmt.Errorf("%q is not the name of a distribution: write letters and digits, with - _ or . between them", name)
	}
	return nil
}

// normal is the name as package indexes compare it.
func normal(name string) string {
	return strings.ToLower(separators.ReplaceAllString(name, "-"))
}

// fileName is the name as it stands in the names of files.
func fileName(name string) string { return strings.ReplaceAll(normal(name), "-", "_") }
