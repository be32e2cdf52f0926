package call

import (
	"bytes"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// This file is about answers by which a child shows that its lists are old: it does not know what
// it has listed. They are read again before the client hears of it, so that what it asks for
// next is what there is.

// doubtTime is how long such an answer waits until the lists were read.
const doubtTime = 2 * time.Second

// maxUnknownText bounds an answer that may mean that something is not known.
const maxUnknownText = 2 << 10

// unknownWords stand in answers that mean it. Servers have no common word for that.
var unknownWords = [][]byte{
	[]byte("unknown"), []byte("not found"), []byte("no such"), []byte("not exist"), []byte("doesn't exist"),
	[]byte("not registered"), []byte("not available"), []byte("disabled"), []byte("not recognized"), []byte("not recognised"),
}

// mayMeanUnknown reports whether an answer of a child may mean that it does not know what it was asked for by this name, a
// thing of this kind. Some servers answer with an error, others with a result that is one. An error of a code that is used for
// much else needs words that say so, and a result needs the name too: it is the answer of a tool, about whatever that does.
func mayMeanUnknown(answer jsonrpc.Answer, kind offers.ListKind, name string) bool {
	text := answer.Error
	if text == nil {
		if kind != offers.Tools || len(answer.Result) > maxUnknownText || string(jsonrpc.Get(answer.Result, "isError")) != "true" || !bytes.Contains(answer.Result, []byte(name)) {
			return false
		}
		text = answer.Result
	} else {
		switch jsonrpc.ParseError(answer.Error).Code {
		case jsonrpc.CodeMethodNotFound:
			return true
		case mcp.RESOURCE_NOT_FOUND:
			return kind == offers.Resources
		}
	}
	if len(text) > maxUnknownText {
		return false
	}
	text = bytes.ToLower(text)
	if !bytes.Contains(text, []byte(kind.List().Noun)) {
		return false
	}
	for _, word := range unknownWords {
		if bytes.Contains(text, word) {
			return true
		}
	}
	return false
}
