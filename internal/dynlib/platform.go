package dynlib

// The import ends the build on platforms that are not supported.
import _ "github.com/tvmffi-go/tvmffi/internal/needs_64_bit_linux_macos_or_windows_see_readme"
