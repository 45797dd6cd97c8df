package web

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed static
var static embed.FS

// page serves the page to try the server. It needs no network.
func page() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil { // the folder is part of the program
		panic(err)
	}
	return http.FileServerFS(files)
}
