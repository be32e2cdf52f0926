# What people do here; each line calls what README.md names, or a script in .ci.
.PHONY: build test lint demo packages long

build:
	go build -o bin/ ./cmd/mcphub

test: # CI runs more: .ci/run
	go test ./...

lint:
	go tool -modfile=tools/go.mod golangci-lint run

demo:
	go run ./cmd/mcphub demo

packages: # everything that mcphub is installed from, into dist/
	go -C packaging run . $(if $(VERSION),-version $(VERSION))

long:
	.ci/long
