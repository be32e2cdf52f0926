package modernlink

import (
	"encoding/json"
	"testing"
)

func TestMetaIsSpliced(t *testing.T) {
	t.Parallel()
	s := &ClientMeta{meta: []byte(`"io.modelcontextprotocol/x":1`)}
	const own = `"io.modelcontextprotocol/x":1`
	for in, want := range map[string]string{
		``:                               `{"_meta":{` + own + `}}`,
		`{}`:                             `{"_meta":{` + own + `}}`,
		`{ }`:                            `{"_meta":{` + own + `} }`,
		` {"a":1.0 , "a":2} `:            `{"_meta":{` + own + `},"a":1.0 , "a":2}`,
		`{"a":1,"_meta":{}}`:             `{"a":1,"_meta":{` + own + `}}`,
		`{"_meta":null,"a":"\ud800"}`:    `{"_meta":{` + own + `},"a":"\ud800"}`,
		`{"\u005fmeta":{"k":1e2},"a":1}`: `{"\u005fmeta":{"k":1e2,` + own + `},"a":1}`,
		`{"_meta":{"progressToken":9007199254740993,"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol\/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/other":[1.0]}}`: `{"_meta":{"progressToken":9007199254740993,"io.modelcontextprotocol/other":[1.0],` + own + `}}`,
	} {
		got, err := s.Params([][]byte{[]byte(in)})
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{`[]`, `7`, `"x"`, `{`} {
		if got, err := s.Params([][]byte{[]byte(in)}); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
	parts := [][]byte{[]byte(`{"name":"`), []byte(`t","argu`), []byte(`ments":{}}`)}
	if got, err := s.Params(parts); err != nil || string(got) != `{"_meta":{`+own+`},"name":"t","arguments":{}}` {
		t.Errorf("%s, %v", got, err)
	}
}
