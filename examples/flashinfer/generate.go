package main

//go:generate go tool tvmffi-bind gen --from native/norm.json --package norm --out ./norm
