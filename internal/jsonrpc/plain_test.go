package jsonrpc

import (
	"bytes"
	"strings"
	"testing"

	"mcphub/e2e/seeds"
)

// plainSeeds are answers that the fast reading takes, and things like them
// that it leaves to jsontext.
var plainSeeds = map[string]bool{
	`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                  true,
	`{"id":"a","result":[],"jsonrpc":"2.0"}`:                                                true,
	`{"jsonrpc":"2.0","id":-1.5e+10,"error":{"code":1,"message":"x","data":[[],{},[{}]]}} `: true,
	`{"result":null,"id":7}`:                                                                true, // a peer that leaves the version out
	"{ \"id\" :\t1 , \"result\" : [ 1 , true , { \"a\" : null , \"b\" : -0.0 } ] }":         true,
	`{"id":1,"result":"\ud800 \u00Af \\ \/ \" \b\f\n\r\t"}`:                                 true, // lone surrogates pass as sent
	"{\"id\":1,\"result\":\"\xff\xc3\"}":                                                    true, // and bad UTF-8
	`{"id":1,"result":{"a":1,"a":2}}`:                                                       true,
	`{"id":1,"result":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`:           true,
	`{"id":1,"result":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`:           false,
	`{"id":1,"result":1,"result":2}`:                                                        false,
	`{"id":1,"result":1,"error":null}`:                                                      false,
	`{"id":null,"result":1}`:                                                                false,
	`{"id":1}`:                                                                              false,
	`{"id":1,"result":01}`:                                                                  false,
	`{"id":1,"result":1.}`:                                                                  false,
	`{"id":1,"result":1e}`:                                                                  false,
	`{"id":1,"result":-}`:                                                                   false,
	`{"id":1,"result":nul}`:                                                                 false,
	`{"id":1,"result":"\u12g4"}`:                                                            false,
	`{"id":1,"result":"\x"}`:                                                                false,
	"{\"id\":1,\"result\":\"a\x1fb\"}":                                                      false,
	`{"id":1,"result":[1,]}`:                                                                false,
	`{"id":1,"result":[}`:                                                                   false,
	`{"id":1,"result":{"a"}}`:                                                               false,
	`{"id":1,"result":{"a":1]}`:                                                             false,
	`{"id":1,"result":{,}}`:                                                                 false,
	`{"id":1,"result":1}}`:                                                                  false,
	`{"id":1,"result":1`:                                                                    false,
	`{"id":1,"result":"`:                                                                    false,
	`{"id":1,"result":1,}`:                                                                  false,
	`{"jsonrpc":"1.0","id":1,"result":1}`:                                                   false,
	`{"id":1,"r\u0065sult":1}`:                                                              false,
	`{"id":1,"method":"x"}`:                                                                 false,
	`{}`:                                                                                    false,
	``:                                                                                      false,
}

func TestPlainAnswer(t *testing.T) {
	t.Parallel()
	for line, plain := range plainSeeds {
		var m Message
		if got := plainFrame([]byte(line), false, &m); got != plain {
			t.Errorf("%s: plain %v, want %v", line, got, plain)
		}
		samePlain(t, []byte(line))
	}
}

// samePlain checks that a frame which is read the fast way is read the same by
// jsontext.
func samePlain(t *testing.T, line []byte) {
	t.Helper()
	var fast, full Message
	if !plainFrame(line, false, &fast) {
		return
	}
	if err := splitFrame(line, false, &full); err != nil {
		t.Fatalf("%q was taken, and is %v", line, err)
	}
	if !bytes.Equal(fast.ID, full.ID) || !bytes.Equal(fast.Result, full.Result) || !bytes.Equal(fast.Error, full.Error) ||
		(fast.Result == nil) != (full.Result == nil) || full.Method != "" || full.Params != nil ||
		offsetOf(line, fast.ID) != offsetOf(line, full.ID) || offsetOf(line, fast.Result) != offsetOf(line, full.Result) {
		t.Fatalf("%q: fast %+v, full %+v", line, fast, full)
	}
}

func FuzzPlainAnswer(f *testing.F) {
	for s := range plainSeeds {
		f.Add([]byte(s), uint16(0))
	}
	f.Add([]byte(`{"id":1,"result":"`+strings.Repeat("0123456789abcde\\n", 20)+`"}`), uint16(77))
	f.Fuzz(func(t *testing.T, line []byte, at uint16) {
		samePlain(t, line)
		// The same inside a longer text, where the words are read eight bytes at a time.
		long := append([]byte(`{"id":1,"result":["`), bytes.Repeat([]byte("x"), int(at)%80)...)
		samePlain(t, append(append(long, line...), `","`+strings.Repeat("y", 40)+`"]}`...))
		samePlain(t, append(append([]byte(`{"id":1,"result":`), line...), '}'))
	})
}

// One byte changed anywhere in a plain answer is judged as jsontext judges it.
func TestPlainAnswerByBytes(t *testing.T) {
	t.Parallel()
	line := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"The quick\tbrown fox\u00e9 jumps over the lazy dog."},-1.5e3,true,null]}}`)
	rng := seeds.Rand(t)
	taken := 0
	for range 200_000 {
		b := bytes.Clone(line)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b))] = byte(rng.IntN(256))
		}
		var m Message
		if plainFrame(b, false, &m) {
			taken++
		}
		samePlain(t, b)
	}
	if taken == 0 {
		t.Fatal("none was plain")
	}
}

// plainRequests are the same for what a strict peer sends.
var plainRequests = map[string]bool{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,{"y":"z"}]},"_meta":{"progressToken":1}}}`: true,
	`{"method":"x","jsonrpc":"2.0"}`:                                                                          true,
	`{ "params" : { } , "method" : "a\/b" , "jsonrpc" : "2.0" , "id" : "7" } `:                                true,
	`{"jsonrpc":"2.0","method":"x","params":{"a":"\n\"\\"}}`:                                                  true,
	`{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":2}}`:                                                   false,
	`{"jsonrpc":"2.0","method":"x","params":{"b":{"a":1,"a":2}}}`:                                             false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":1,"\u0061":2}}`:                                              false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":"\ud800"}}`:                                                  false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":"é"}}`:                                                       false, // jsontext takes it
	"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":\"\xff\"}}":                                      false,
	`{"jsonrpc":"2.0","method":"x","params":[]}`:                                                              false,
	`{"jsonrpc":"2.0","method":"x","id":1,"id":1}`:                                                            false,
	`{"jsonrpc":"2.0","method":"","id":1}`:                                                                    false,
	`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                                    false,
	`{"jsonrpc":"1.0","method":"x"}`:                                                                          false,
	`{"jsonrpc":"2.0","method":"x","id":null}`:                                                                false,
	`{"jsonrpc":"2.0","method":"x"}{}`:                                                                        false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":[1,]}}`:                                                      false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":{"b"}}}`:                                                     false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":[}}`:                                                         false,
	`{"jsonrpc":"2.0","method":"x","x":1}`:                                                                    false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}}`: false,
	`{"jsonrpc":"2.0","method":"x","params":{"a":"`:                                                           false,
	`{`: false,
}

func TestPlainRequest(t *testing.T) {
	t.Parallel()
	for line, plain := range plainRequests {
		var m Message
		if got := plainFrame([]byte(line), true, &m); got != plain {
			t.Errorf("%s: plain %v, want %v", line, got, plain)
		}
		sameRequest(t, []byte(line))
	}
}

// sameRequest checks that a request which is read the fast way is read the
// same by jsontext.
func sameRequest(t *testing.T, line []byte) {
	t.Helper()
	var fast, full Message
	if !plainFrame(line, true, &fast) {
		return
	}
	if err := splitFrame(line, true, &full); err != nil {
		t.Fatalf("%q was taken, and is %v", line, err)
	}
	if !bytes.Equal(fast.ID, full.ID) || fast.Method != full.Method || !bytes.Equal(fast.Params, full.Params) ||
		(fast.ID == nil) != (full.ID == nil) || (fast.Params == nil) != (full.Params == nil) || full.Result != nil || full.Error != nil ||
		offsetOf(line, fast.Params) != offsetOf(line, full.Params) || len(fast.Members) != len(full.Members) {
		t.Fatalf("%q: fast %+v, full %+v", line, fast, full)
	}
	for i, mb := range fast.Members {
		if mb.Name != full.Members[i].Name || !bytes.Equal(mb.Value, full.Members[i].Value) || offsetOf(line, mb.Value) != offsetOf(line, full.Members[i].Value) {
			t.Fatalf("%q: member %d: fast %+v, full %+v", line, i, mb, full.Members[i])
		}
	}
}

func FuzzPlainRequest(f *testing.F) {
	for s := range plainRequests {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		sameRequest(t, line)
		sameRequest(t, append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":`), line...), `}}`...))
		sameRequest(t, append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`), line...), `","arguments":{}}}`...))
		sameRequest(t, append(append([]byte(`{"jsonrpc":"2.0","method":"x","params":{"a":{"b":1,`), line...), `:2}}}`...))
	})
}

func TestPlainRequestByBytes(t *testing.T) {
	t.Parallel()
	line := []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"a","arguments":{"a":"b\tc","b":[1,-2.5e7,true,null,{"c":{}}]},"_meta":{}}}`)
	rng := seeds.Rand(t)
	taken := 0
	for range 200_000 {
		b := bytes.Clone(line)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(b))
			if b[at] = byte(rng.IntN(256)); rng.IntN(2) == 0 {
				b[at] = line[rng.IntN(len(line))]
			}
		}
		var m Message
		if plainFrame(b, true, &m) {
			taken++
		}
		sameRequest(t, b)
	}
	if taken == 0 {
		t.Fatal("none was plain")
	}
}
