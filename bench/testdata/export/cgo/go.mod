module example.com/ledger/cgo

go 1.26
