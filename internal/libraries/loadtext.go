package libraries

import (
	"strings"
	"unicode/utf8"
)

// The functions below read the messages of the loaders of Linux and macOS. The loader of Windows names neither symbols
// nor libraries. They do without package regexp, which would add 300 kB to every library made of a Go package.

// after returns the longest run of accepted bytes that follows the first occurrence of one of the texts.
func after(message string, accept func(byte) bool, texts ...string) string {
	first, rest := len(message)+1, ""
	for _, text := range texts {
		if i := strings.Index(message, text); i >= 0 && i < first {
			first, rest = i, message[i+len(text):]
		}
	}
	for i := range len(rest) {
		if !accept(rest[i]) {
			return rest[:i]
		}
	}
	return rest
}

func isSpace(c byte) bool { return strings.IndexByte(" \t\n\r\f", c) >= 0 }

// isWord reports whether c is a letter, a digit, an underscore or a dot.
func isWord(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// missingSymbol returns the undefined symbol that a message names, or "".
func missingSymbol(message string) string {
	inName := func(c byte) bool { return !isSpace(c) && c != ',' && c != '\'' }
	texts := []string{"undefined symbol: ", "ymbol not found in flat namespace: ", "Symbol not found: "}
	if name := after(message, inName, texts...); name != "" {
		return name
	}
	for i := range texts {
		texts[i] += "'"
	}
	return after(message, inName, texts...)
}

// missingLibrary returns the library that a message says is missing, or "".
func missingLibrary(message string) string {
	if before, _, ok := strings.Cut(message, ": cannot open shared object file: No such file"); ok {
		name := before[strings.LastIndex(before, ": ")+1:]
		name = strings.TrimPrefix(name, " ")
		if name != "" && !strings.ContainsAny(name, ": \t\n\r\f") {
			return name
		}
	}
	return after(message, func(c byte) bool { return !isSpace(c) }, "Library not loaded: ")
}

// moduleLoader precedes the kind of a module in the name of the global function that reads such a module inside a
// library.
const moduleLoader = "ffi.Module.load_from_bytes."

// missingLoader returns the kind of a module that the message of libtvm_ffi names, or "".
func missingLoader(message string) string {
	return strings.TrimRight(after(message, isWord, moduleLoader), ".")
}

// missingVersion returns the version of glibc or of the C++ runtime that a message says is missing, or "". It stands
// between two quotation marks of any kind.
func missingVersion(message string) string {
	for {
		_, rest, ok := strings.Cut(message, "version ")
		if !ok {
			return ""
		}
		message = rest
		_, mark := utf8.DecodeRuneInString(rest)
		version := after(rest[mark:], isWord, "")
		family, number, _ := strings.Cut(version, "_")
		rest = rest[mark+len(version):]
		_, mark = utf8.DecodeRuneInString(rest)
		if number == "" || !strings.HasPrefix(rest[mark:], " not found") {
			continue
		}
		switch family {
		case "GLIBC", "GLIBCXX", "CXXABI", "GCC":
			return version
		}
	}
}

// symbolOfFFI reports whether a symbol is a C function of libtvm_ffi or a mangled C++ name in tvm::ffi. macOS puts a
// line before each name.
func symbolOfFFI(symbol string) bool {
	for _, s := range []string{symbol, strings.TrimPrefix(symbol, "_")} {
		if strings.HasPrefix(s, "TVMFFI") {
			return true
		}
		name, mangled := strings.CutPrefix(s, "_Z")
		if !mangled {
			continue
		}
		if len(name) > 1 && name[0] == 'T' && strings.IndexByte("ISV", name[1]) >= 0 {
			name = name[2:] // type information, its name, a table of virtual functions
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, "N"), "K")
		if strings.HasPrefix(name, "3tvm3ffi") {
			return true
		}
	}
	return false
}

// beginsLike reports whether a symbol begins with a text, in which ? stands for any byte.
func beginsLike(symbol, text string) bool {
	if len(symbol) < len(text) {
		return false
	}
	for i := range len(text) {
		if text[i] != '?' && text[i] != symbol[i] {
			return false
		}
	}
	return true
}
