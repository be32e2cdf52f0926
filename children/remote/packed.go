package remote

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// unpackBody has the body of an answer read as it was before the server packed it, as SDKs do. No request asks for packed answers, and some servers pack them all the same. What comes
// out is bounded by the caller.
func unpackBody(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	resp.ContentLength = -1
	resp.Body = &unpacked{ReadCloser: resp.Body}
}

// unpacked is a body. Its first read waits for the header of what is packed, which may come with the first event.
type unpacked struct {
	io.ReadCloser
	from *gzip.Reader
}

func (u *unpacked) Read(b []byte) (int, error) {
	if u.from == nil {
		from, err := gzip.NewReader(u.ReadCloser)
		if err != nil {
			return 0, fmt.Errorf("it is not packed as its header says: %w", err)
		}
		u.from = from
	}
	return u.from.Read(b)
}
