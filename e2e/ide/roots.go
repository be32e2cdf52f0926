package ide

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Answer is what the client says to roots/list: the raw value of one of the two members.
type Answer struct{ Result, Error string }

// Roots decides the answer to the nth question (from 1). It may take its time; nil means that no answer ever comes. ctx ends
// when the Client is closed.
type Roots func(ctx context.Context, n int) *Answer

// Folders answers with these directories, each named after its last component.
func Folders(dirs ...string) Roots {
	entries := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		uri, _ := json.Marshal(FileURI(dir)) // strings always marshal
		name, _ := json.Marshal(filepath.Base(dir))
		entries = append(entries, fmt.Sprintf(`{"uri":%s,"name":%s}`, uri, name))
	}
	return Result(`{"roots":[` + strings.Join(entries, ",") + `]}`)
}

// FileURI gives the file: URI of an absolute path.
func FileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Result answers with a raw result, whatever it holds.
func Result(raw string) Roots {
	return func(context.Context, int) *Answer { return &Answer{Result: raw} }
}

// Refuse answers with an error.
func Refuse(code int, message string) Roots {
	return func(context.Context, int) *Answer {
		return &Answer{Error: fmt.Sprintf(`{"code":%d,"message":%q}`, code, message)}
	}
}

// Never does not answer at all.
func Never() Roots {
	return func(context.Context, int) *Answer { return nil }
}

// After answers as then does once open is closed.
func After(open <-chan struct{}, then Roots) Roots {
	return func(ctx context.Context, n int) *Answer {
		select {
		case <-open:
			return then(ctx, n)
		case <-ctx.Done():
			return nil
		}
	}
}

// InTurn gives the first question to the first, the second to the second; the last answers all that follow.
func InTurn(each ...Roots) Roots {
	return func(ctx context.Context, n int) *Answer {
		return each[min(n, len(each))-1](ctx, n)
	}
}
