package cppface

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// words are the keywords of C++, to C++23, and names that every translation unit may have
// as macros: those of the C library, and of compilers in their GNU mode.
var words = face.Words(`
	alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand
	bitor bool break case catch char char8_t char16_t char32_t class compl concept const
	consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
	default delete do double dynamic_cast else enum explicit export extern false float for
	friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator
	or or_eq private protected public reflexpr register reinterpret_cast requires return short
	signed sizeof static static_assert static_cast struct switch synchronized template this
	thread_local throw true try typedef typeid typename union unsigned using virtual void
	volatile wchar_t while xor xor_eq

	linux unix i386 assert errno stdin stdout stderr setjmp offsetof va_arg va_copy va_end
	va_start major minor makedev signals slots emit foreach

	EOF NULL BUFSIZ FILENAME_MAX FOPEN_MAX L_tmpnam TMP_MAX SEEK_CUR SEEK_END SEEK_SET EXIT_FAILURE
	EXIT_SUCCESS MB_CUR_MAX RAND_MAX CLOCKS_PER_SEC TIME_UTC CHAR_BIT CHAR_MAX CHAR_MIN SCHAR_MAX
	SCHAR_MIN UCHAR_MAX SHRT_MAX SHRT_MIN USHRT_MAX INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN
	ULONG_MAX LLONG_MAX LLONG_MIN ULLONG_MAX SSIZE_MAX SIZE_MAX PTRDIFF_MAX PTRDIFF_MIN WCHAR_MAX
	WCHAR_MIN WINT_MAX WINT_MIN WEOF FLT_MAX FLT_MIN FLT_EPSILON FLT_DIG FLT_RADIX DBL_MAX DBL_MIN
	DBL_EPSILON DBL_DIG LDBL_MAX LDBL_MIN DECIMAL_DIG HUGE_VAL HUGE_VALF HUGE_VALL INFINITY NAN
	FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO MATH_ERRNO MATH_ERREXCEPT DOMAIN SING OVERFLOW
	UNDERFLOW PLOSS TLOSS LC_ALL LC_COLLATE LC_CTYPE LC_MONETARY LC_NUMERIC LC_TIME ONCE_FLAG_INIT
	PATH_MAX NAME_MAX PIPE_BUF IOV_MAX M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI
	M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 BIG_ENDIAN LITTLE_ENDIAN BYTE_ORDER PDP_ENDIAN TRUE FALSE
	SIG_DFL SIG_ERR SIG_IGN SIGABRT SIGALRM SIGBUS SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO
	SIGKILL SIGPIPE SIGPOLL SIGPROF SIGQUIT SIGSEGV SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN
	SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ
	E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED
	ECHILD ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EEXIST EFAULT EFBIG
	EHOSTUNREACH EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE
	ENAMETOOLONG ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC ENOLCK
	ENOLINK ENOMEM ENOMSG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTCONN ENOTDIR ENOTEMPTY
	ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENXIO EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPIPE EPROTO
	EPROTONOSUPPORT EPROTOTYPE ERANGE EROFS ESPIPE ESRCH ETIME ETIMEDOUT ETXTBSY EWOULDBLOCK EXDEV
`)

// identifier returns the C++ name for a Go name. A name that is a keyword or a macro gets
// an underscore at its end. A letter that some compilers refuse in names becomes its number.
func identifier(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case c < utf8.RuneSelf:
			b.WriteRune(c)
		case everywhere(c) && (i > 0 || !unicode.IsDigit(c)):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "_u%04x", c)
		}
	}
	id := b.String()
	if id == "" || id[0] >= '0' && id[0] <= '9' {
		id = "_" + id
	}
	if words[id] || stdint.MatchString(id) {
		id += "_"
	}
	return id
}

// everywhere reports whether a letter may be in names of C++11 and of C++23: letters of
// alphabets and syllabaries that are in normal form.
func everywhere(c rune) bool {
	switch {
	case c == 0xd7 || c == 0xf7: // times and divide, between the letters of Latin 1
		return false
	case c >= 0xc0 && c <= 0x24f, c >= 0x391 && c <= 0x3c9, c >= 0x400 && c <= 0x481, c >= 0x48a && c <= 0x52f,
		c >= 0x5d0 && c <= 0x5ea, c >= 0x3041 && c <= 0x3096, c >= 0x30a1 && c <= 0x30fa, c >= 0x4e00 && c <= 0x9fa5,
		c >= 0xac00 && c <= 0xd7a3:
		return unicode.IsLetter(c)
	}
	return false
}

// stdint matches the macros of <cstdint>, such as INT8_MAX.
var stdint = regexp.MustCompile(`^U?INT(_FAST|_LEAST)?(8|16|32|64|MAX|PTR)?_(MAX|MIN|C)$`)

func newScope(taken ...string) face.Scope { return face.NewScope(identifier, taken...) }
