package strictjson

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestParse: the arguments are one object of I-JSON, and what is not is refused with its pointer.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{``, ``}, {" \t\r\n", ``}, {`null`, ``}, {" null\n", ``}, {`{}`, ``}, {" {\t}\r\n", ``},
		{`nul`, `arguments-syntax`}, {`Null`, `arguments-syntax`}, {"\v{}", `arguments-syntax`}, {"\ufeff{}", `arguments-syntax`},
		// One object.
		{`[]`, `arguments-not-object`}, {`[{"a":1}]`, `arguments-not-object`}, {`"{}"`, `arguments-not-object`}, {`1`, `arguments-not-object`}, {`true`, `arguments-not-object`},
		{`{"a":1} {"b":2}`, `arguments-syntax`}, {`{} null`, `arguments-syntax`}, {`{}x`, `arguments-syntax`}, {`{},`, `arguments-syntax`}, {`null null`, `arguments-syntax`},
		// By the grammar.
		{`{"a":1,"b":[true,false,null,-0.5e+1,"x",{}]}`, ``}, {`{"a"`, `arguments-syntax /a`}, {`{"a":`, `arguments-syntax /a`}, {`{"a":1`, `arguments-syntax`}, {`{"a":[1}`, `arguments-syntax /a`}, {`{"a":[1]]`, `arguments-syntax`},
		{`{"a":1,}`, `arguments-syntax`}, {`{"a":[1,]}`, `arguments-syntax /a`}, {`{"a" 1}`, `arguments-syntax /a`}, {`{a:1}`, `arguments-syntax`}, {`{'a':1}`, `arguments-syntax`}, {`{1:1}`, `arguments-syntax`}, {`{"a":'x'}`, `arguments-syntax /a`},
		{`{"a":01}`, `arguments-syntax`}, {`{"a":+1}`, `arguments-syntax /a`}, {`{"a":.5}`, `arguments-syntax /a`}, {`{"a":NaN}`, `arguments-syntax /a`}, {`{"a":0x1}`, `arguments-syntax`}, {`{"a":1}//x`, `arguments-syntax`}, {`/**/{}`, `arguments-syntax`},
		{"{\"a\":\"x\ny\"}", `arguments-syntax /a`}, {"{\"a\":\"x\x00y\"}", `arguments-syntax /a`}, {`{"a":{"b/c":[0,{"d~":x}]}}`, `arguments-syntax /a/b~1c/1/d~0`},
		// Unique names: as they are decoded, in one object.
		{`{"a":1,"a":2}`, `arguments-duplicate-name /a`}, {`{"a":1,"\u0061":2}`, `arguments-duplicate-name /a`}, {`{"b":[{"a":1,"x":0,"a":1}]}`, `arguments-duplicate-name /b/0/a`}, {`{"":1,"":2}`, `arguments-duplicate-name /`},
		{`{"a":1,"A":2}`, ``}, {`{"a":1,"b":{"a":1},"c":{"a":1}}`, ``}, {`{"a":1,"a ":2}`, ``},
		// Valid Unicode, in names and in values.
		{`{"a":"\ud83d\ude00 é"}`, ``}, {`{"a":"\ud83d"}`, `arguments-bad-text /a`}, {`{"a":"\ude00\ud83d"}`, `arguments-bad-text /a`}, {`{"\ud83d":1}`, `arguments-bad-text`}, {"{\"a\":\"x\xff\"}", `arguments-bad-text /a`}, {"{\"a\xc0\xae\":1}", `arguments-bad-text`},
		{"{\"a\":\"\xed\xa0\x80\"}", `arguments-bad-text /a`}, {`{"a":"\x"}`, `arguments-bad-text /a`}, {`{"a":"\u12"}`, `arguments-bad-text /a`},
		// No NUL in a name.
		{`{"a\u0000":1}`, `arguments-bad-name`}, {`{"b":{"\u0000":[]}}`, `arguments-bad-name /b`}, {`{"opts":{"outFile\u0000":"flink"}}`, `arguments-bad-name /opts`}, {`{"a\\u0000":1}`, ``}, {`{"a\u0001":1}`, ``}, {`{"a":"\u0000"}`, ``},
		// Numbers that comparing exactly is cheap for.
		{`{"a":[` + strings.Repeat("1", 1024) + `]}`, ``}, {`{"a":[` + strings.Repeat("1", 1025) + `]}`, `arguments-bad-number /a`}, {`{"a":"` + strings.Repeat("1", 1025) + `"}`, ``},
		{`{"a":1e9999}`, ``}, {`{"a":1e10000}`, `arguments-bad-number`}, {`{"a":1E-10000}`, `arguments-bad-number`}, {`{"a":-1e+10000}`, `arguments-bad-number`}, {`{"a":1e-0000009999}`, ``}, {`{"a":123456.0E+1}`, ``}, {`{"a":{"b":[0,1e10000]}}`, `arguments-bad-number /a/b`},
	} {
		tr := New(DefaultDepth)
		if got := outcome(tr.Parse([]byte(c.args), DefaultSize)); got != c.want {
			t.Errorf("%.200q\n got %s\nwant %s", c.args, got, c.want)
		}
		tr.Free()
	}
}

// TestBounds: depth and size are bounded, and the bound itself is within. TestNestedBounds has the number of values.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what        string
		depth, size int
		args, want  string
	}{
		{"three deep", 3, 99, `{"a":[{"b":1}]}`, ``},
		{"four deep", 3, 99, `{"a":[{"b":[]}]}`, `arguments-too-deep /a/0`},
		{"side by side", 2, 99, `{"a":[],"b":{},"c":[]}`, ``},
		{"deep behind a sibling", 2, 99, `{"a":[],"b":[0,{}]}`, `arguments-too-deep /b`},
		{"no depth", 0, 99, `{}`, `arguments-too-deep`},
		{"nine bytes", 3, 9, `{"a":123}`, ``},
		{"ten bytes", 3, 9, `{"a":1234}`, `arguments-too-large`},
		{"blanks count", 3, 9, ` {"a":123}`, `arguments-too-large`},
	} {
		tr := New(c.depth)
		if got := outcome(tr.Parse([]byte(c.args), c.size)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
		tr.Free()
	}
}

// TestMessages: a refusal names the bound, or the byte.
func TestMessages(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"a":[[[]]]}`: `arguments at "/a/0": nested more than 3 deep; send flatter arguments`,
		`{"a":"` + "0123456789abcdefghijklmnopqrstuvwxyz" + `"}`: `arguments: they are 44 bytes long, the limit is 40; send less in one call`,
		`{} {}`:         `arguments: more than one JSON value; send exactly one object`,
		`{"a":1 2}`:     `arguments: not valid JSON at byte 7: invalid character '2' after object value (expecting ',' or '}')`,
		`{"a":1,"a":2}`: `arguments at "/a": the member name occurs twice in one object, and parsers disagree on which one counts; send it once`,
	} {
		if err := New(3).Parse([]byte(args), 40); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", args, err, want)
		}
	}
	if err := explain(errors.New("x")); outcome(err) != CodeSyntax || err.Error() != "arguments: not JSON: x" {
		t.Errorf("what the decoder never says: %v", err)
	}
}

// TestNodesAreInDocumentOrder: the tree has every value in document order, with its parent, its place, its name and its place.
func TestNodesAreInDocumentOrder(t *testing.T) {
	t.Parallel()
	tr := parsed(t, ` {"a":[1,"x\n",[]],"b\u0041":null,"é":{"c":true},"":false} `)
	var got []string
	for i := range tr.Nodes {
		n := &tr.Nodes[i]
		start, end := tr.Span(int32(i))
		got = append(got, fmt.Sprintf("%d %d in %d: first %d, next %d, place %d, %d-%d %s", i, n.Kind, n.Parent, n.First, n.Next, n.Index, start, end, tr.Pointer(int32(i))))
	}
	want := []string{
		`0 5 in -1: first 1, next 0, place 0, 1-59 `,
		`1 4 in 0: first 2, next 5, place 0, 6-18 /a`,
		`2 2 in 1: first 0, next 3, place 0, 7-8 /a/0`,
		`3 3 in 1: first 0, next 4, place 1, 9-14 /a/1`,
		`4 4 in 1: first 0, next 0, place 2, 15-17 /a/2`,
		`5 0 in 0: first 0, next 6, place 1, 29-33 /bA`,
		`6 5 in 0: first 7, next 8, place 2, 39-49 /é`,
		`7 1 in 6: first 0, next 0, place 0, 44-48 /é/c`,
		`8 1 in 0: first 0, next 0, place 3, 53-58 /`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestManyNodes: a tree that grows has every value, and is not larger than the document may need.
func TestManyNodes(t *testing.T) {
	t.Parallel()
	const n = maxPooled
	tr := parsed(t, `{"a":[`+strings.Repeat("[],", n)+`7]}`)
	if got := string(tr.Whole(at(t, tr, fmt.Sprintf("/a/%d", n)))); got != "7" || len(tr.Nodes) != n+3 {
		t.Errorf("the last of %d values is %s", len(tr.Nodes), got)
	}
	if most := 2 * n; cap(tr.Nodes) > most {
		t.Errorf("room for %d values, there are %d", cap(tr.Nodes), len(tr.Nodes))
	}
}

// TestAFreedTreeKeepsNoArguments: a tree that goes back to the pool keeps none of the arguments, and a large one does not go back.
func TestAFreedTreeKeepsNoArguments(t *testing.T) {
	t.Parallel()
	tr := parsed(t, `{"a":"secret"}`)
	docs, nodes := tr.docs, tr.Nodes
	tr.Free()
	if docs[0] != nil || tr.buf.Len() != 0 || len(nodes) == 0 {
		t.Errorf("the arguments are kept: %q", docs[0])
	}
	for _, c := range []struct {
		what string
		tree *Tree
		kept bool
	}{
		{"nodes", &Tree{docs: [][]byte{{}}, Nodes: make([]Node, 1, maxPooled)}, true},
		{"more nodes", &Tree{docs: [][]byte{{}}, Nodes: make([]Node, 1, maxPooled+1)}, false},
		{"documents", &Tree{docs: make([][]byte, 1, maxPooled)}, true},
		{"more documents", &Tree{docs: make([][]byte, 1, maxPooled+1)}, false},
		{"scratch", &Tree{docs: [][]byte{{}}, scratch: make([]byte, 1, maxPooled)}, true},
		{"more scratch", &Tree{docs: [][]byte{{}}, scratch: make([]byte, 1, maxPooled+1)}, false},
	} {
		docs := c.tree.docs
		docs[0] = []byte("x")
		if c.tree.Free(); (docs[0] == nil) != c.kept {
			t.Errorf("%s: kept %v", c.what, !c.kept)
		}
	}
}
