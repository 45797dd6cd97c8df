module github.com/tvmffi-go/tvmffi

go 1.26

require (
	github.com/dave/jennifer v1.7.1
	github.com/ebitengine/purego v0.11.3
)
