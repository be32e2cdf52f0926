# What people do here; each line calls what README.md names, or a script in .ci.
.PHONY: build test lint demo long

build:
	go build -o bin/ ./cmd/mcphub

test: # CI runs more: .ci/run
	go test ./...

lint:
	go tool -modfile=tools/go.mod golangci-lint run

demo:
	go run ./cmd/mcphub demo

long:
	.ci/long
