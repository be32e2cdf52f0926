package strictjson

import "testing"

// TestStandardJSON: what only some parsers take for JSON is written as all do. A dash means that it can be none of that.
func TestStandardJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		depth      int
	}{
		{`{"a":[1,{}]}`, `{"a":[1,{}]}`, 3}, {`[[],[]]`, `[[],[]]`, 2}, {`1`, `1`, 0}, {`"x"`, `"x"`, 0},
		// Comments of every kind: outside strings, and they end.
		{"{//x}\n\"a\":1}", "{\n\"a\":1}", 1}, {"{#x}\n\"a\":1}", "{\n\"a\":1}", 1}, {`{/*x}*/"a":/**/1}`, `{"a":1}`, 1}, {`{"a":1}//x`, `{"a":1}`, 1}, {`{"a":1}#`, `{"a":1}`, 1}, {`{"a":"//x","b":"#","c":"/**/"}`, `{"a":"//x","b":"#","c":"/**/"}`, 1},
		{`{"a":1/*}`, `-`, 1}, {`{"a":1/*/}`, `-`, 1}, {`/**/`, `-`, 0}, {`//x`, `-`, 0}, {`{"a":/x/}`, `{"a":/x/}`, 1},
		// Commas that trail.
		{`{"a":1,}`, `{"a":1 }`, 1}, {`[1,]`, `[1 ]`, 1}, {"[1, \n]", "[1  \n]", 1}, {`[1,/*x*/]`, `[1 ]`, 1}, {`[1,,]`, `[1, ]`, 1}, {`[[1,],2,]`, `[[1 ],2 ]`, 2}, {`[1,2]`, `[1,2]`, 1}, {`{"a":1,:}`, `{"a":1,:}`, 1}, {`[1,[]]`, `[1,[]]`, 2}, {`[1,'']`, `[1,""]`, 1}, {`[1,x]`, `[1,x]`, 1}, {`[1,""]`, `[1,""]`, 1}, {`[1,/]`, `[1,/]`, 1},
		// Single quotes.
		{`{'a':'b"c'}`, `{"a":"b\"c"}`, 1}, {`['it\'s']`, `["it's"]`, 1}, {"['a\\\nb']", `["ab"]`, 1}, {`['\x41\n\u0042']`, `["A\nB"]`, 1}, {`['']`, `[""]`, 1}, {`['a]`, `-`, 1}, {`['a\']`, `-`, 1}, {`['\xff']`, `-`, 1}, {`[u'x',b'y']`, `["x","y"]`, 1}, {`[br'x']`, `["x"]`, 1}, {`[abc'x']`, `[abc"x"]`, 1},
		{`["a]`, `-`, 1}, {`["a\"]`, `-`, 1}, {`["a\\"]`, `["a\\"]`, 1}, {`["a\"'"]`, `["a\"'"]`, 1},
		// Names without quotes.
		{`{a:1,$_b2 :2}`, `{"a":1,"$_b2" :2}`, 1}, {"{a\n:1}", "{\"a\"\n:1}", 1}, {`{a-b:1}`, `{a-b:1}`, 1}, {`{2a:1}`, `{2a:1}`, 1}, {`{1:1}`, `{1:1}`, 1}, {`{a 1}`, `{a 1}`, 1}, {`{true:1}`, `{"true":1}`, 1}, {`{NaN:1}`, `{"NaN":1}`, 1},
		// Literals of other languages.
		{`[NaN,Infinity,-Infinity,+Infinity,undefined,None,True,False]`, `[null,null,null,null,null,null,null,null]`, 1}, {`[nan,none,true,-NaN,- Infinity]`, `[nan,none,true,-NaN,- null]`, 1}, {`["NaN"]`, `["NaN"]`, 1}, {`[-1,+1]`, `[-1,+1]`, 1},
		// Several documents.
		{`{"a":1}{"b":2}`, `[{"a":1},{"b":2}]`, 2}, {"{}\n[[1]] 'x' y", "[{}\n,[[1]] ,\"x\" ,y]", 3}, {`1 2`, `[1 ,2]`, 1}, {`{},{}`, `-`, 1}, {`a,b`, `-`, 0}, {``, `-`, 0}, {` `, `-`, 0},
		// What does not close.
		{`{`, `-`, 1}, {`{"a":[1}`, `-`, 2}, {`[[[`, `-`, 3}, {`]`, `-`, 0}, {`[]]`, `-`, 1}, {`[}`, `[}`, 1}, {" [1] ", "[1]", 1},
	} {
		plain, depth := standardJSON(c.text)
		got := string(plain)
		if plain == nil {
			got = "-"
		}
		if got != c.want || depth != c.depth {
			t.Errorf("%q\n got %q, %d deep\nwant %q, %d deep", c.text, got, depth, c.want, c.depth)
		}
	}
}
