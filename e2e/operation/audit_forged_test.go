package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcphub/e2e/world"
)

// ends forges the newest line, which nothing in the folder vouches for: what no
// one can tell is hidden from both, and what mcphub never writes found by both.
func (a *arena) ends() {
	for _, name := range []string{a.open + ".jsonl", "chain.jsonl"} {
		good := a.good[name]
		lines := bytes.SplitAfter(good, []byte("\n"))
		last := len(lines) - 2
		line := string(lines[last][:bytes.LastIndex(lines[last], []byte(`,"hash":"`))])
		n := fmt.Sprintf(`"n":%d`, last+1)
		edit := func(from, to string) string {
			if !strings.Contains(line, from) {
				a.t.Fatalf("%s has no %s", line, from)
			}
			return strings.Replace(line, from, to, 1)
		}
		for what, f := range map[string]struct {
			text string
			want verdict
		}{
			"as it was":                  {line, hidden},
			"another member":             {line + `,"more":{"a":[1,{}]}`, hidden},
			"another time":               {edit(`"time":"2`, `"time":"1`), hidden},
			"as deep as a line may be":   {line + `,"more":` + strings.Repeat("[", 1007) + strings.Repeat("]", 1007), hidden},
			"a level deeper":             {line + `,"more":` + strings.Repeat("[", 1008) + strings.Repeat("]", 1008), found},
			"endless levels":             {line + `,"more":` + strings.Repeat("[", 1<<20), found},
			"spaces":                     {line + ` , "more" : 1 `, hidden},
			"half of a surrogate":        {line + `,"more":"\ud800"`, hidden},
			"escapes":                    {line + `,"more":"\"n\":1,\\","\u006e2":"\u2028"`, hidden},
			"a number again":             {line + `,"n":1`, found},
			"the number again, the same": {line + "," + n, found},
			"an escaped name again":      {line + `,"\u006e":1`, found},
			"a hash before prev":         {edit(`"prev"`, `"hash":"x","prev"`), found},
			"the kind again":             {line + `,"kind":"torn"`, found},
			"a name again further down":  {line + `,"more":{"a":1,"b":[{"c":1,"c":1}]}`, found},
			"names in another case":      {line + `,"N":1,"Kind":"torn","PREV":""`, hidden},
			"a fraction":                 {edit(n, n+".0"), found},
			"an exponent":                {edit(n, n+"e0"), found},
			"a zero in front":            {edit(`"n":`, `"n":0`), found},
			"a space in front":           {edit(`"n":`, `"n": `), found},
			"a string":                   {edit(n, strings.Replace(n, ":", `:"`, 1)+`"`), found},
			"a huge number":              {edit(n, n+"000000000000000000000000"), found},
			"a negative number":          {edit(`"n":`, `"n":-`), found},
			"a version as a fraction":    {edit(`"v":1`, `"v":1.0`), found},
			"another version":            {edit(`"v":1`, `"v":2`), found},
			"another order":              {edit(`"v":1,`+n, n+`,"v":1`), found},
			"a month too many":           {edit(`"time":"`+line[strings.Index(line, `"time":"`)+8:][:7], `"time":"2026-13`), found},
			"a day too many":             {edit(`"time":"`+line[strings.Index(line, `"time":"`)+8:][:10], `"time":"2026-02-30`), found},
			"a leap second":              {edit(`"time":"`+line[strings.Index(line, `"time":"`)+8:][:19], `"time":"2016-12-31T23:59:60`), found},
			"the 24th hour":              {edit(`"time":"`+line[strings.Index(line, `"time":"`)+8:][:19], `"time":"2016-12-31T24:00:00`), found},
			"no time":                    {edit(`"time":"2`, `"time":"x`), found},
			"a kind in capitals":         {edit(`"kind":"`, `"kind":"X`), found},
			"no kind":                    {edit(`"kind"`, `"sort"`), found},
			"no UTF-8":                   {line + ",\"more\":\"\xff\"", found},
			"a surrogate in UTF-8":       {line + ",\"more\":\"\xed\xa0\x80\"", found},
			"a control character":        {line + ",\"more\":\"\x01\"", found},
			"a tab between":              {line + "\t,\t\"more\":1", hidden},
			"a carriage return between":  {line + "\r,\"more\":1", hidden},
			"no JSON":                    {line + `,"more":`, found},
			"two values":                 {line + `}{"more":1`, found},
			"an array":                   {"[" + line, found},
			"a byte order mark":          {"\ufeff" + line, found},
			"nothing":                    {"", found},
			"a line that accounts for none": {fmt.Sprintf(`%s,"kind":"torn","bytes":3,"sha256":"%s"`,
				line[:strings.Index(line, `,"kind"`)], strings.Repeat("a", 64)), found},
		} {
			a.try(name+", forged: "+what, a.with(name, rechain(good, last, []byte(f.text))), f.want)
		}
		sum := lines[last][len(lines[last])-67:]
		for what, tail := range map[string]string{
			"a space":         string(sum[:64]) + "\" }\n",
			"a member":        string(sum[:64]) + "\",\"more\":1}\n",
			"capitals":        strings.ToUpper(string(sum[:64])) + "\"}\n",
			"a space behind":  string(sum[:64]) + "\"} \n",
			"a second object": string(sum[:64]) + "\"}{}\n",
		} {
			a.try(name+", behind the hash: "+what, a.with(name, append(slices.Clone(good[:len(good)-67]), tail...)), found)
		}
		a.torn(name, line[:strings.Index(line, `,"kind"`)])
	}
	a.checkpoints()
	a.removals()
	a.long()
}

// torn ends a file with lines that say about the one before that it was cut off.
func (a *arena) torn(name, head string) {
	good := a.good[name]
	keep := good[:bytes.LastIndexByte(good[:len(good)-1], '\n')+1]
	for _, junk := range []string{"", "x", `{"v":1`, "\xff\xfe", strings.Repeat("y", 5000)} {
		sum := sha256.Sum256([]byte(junk))
		for what, bytes := range map[string]string{"right": fmt.Sprint(len(junk)), "a fraction": fmt.Sprint(len(junk)) + ".0", "an exponent": fmt.Sprint(len(junk)) + "e0", "too few": "7"} {
			line := sealed(fmt.Appendf(nil, `%s,"kind":"torn","bytes":%s,"sha256":"%s"`, head, bytes, hex.EncodeToString(sum[:])))
			want := found
			if what == "right" && junk != "" {
				want = hidden // that is how a crash looks
			}
			if name == "chain.jsonl" {
				want = max(want, either) // the line in whose place it stands may be missed
			}
			a.try(fmt.Sprintf("%s: %.10q accounted for, bytes: %s", name, junk, what), a.with(name, slices.Concat(keep, []byte(junk+"\n"), line)), want)
		}
	}
}

// checkpoints forges what chain.jsonl says about logs.
func (a *arena) checkpoints() {
	good := a.good["chain.jsonl"]
	lines := bytes.SplitAfter(good, []byte("\n"))
	last := lines[len(lines)-2]
	head := fmt.Sprintf(`{"v":1,"n":%d,"prev":"%s","time":"2026-01-01T00:00:00.000000Z","kind":"checkpoint"`, len(lines), last[len(last)-67:len(last)-3])
	logs := bytes.SplitAfter(a.good[a.open+".jsonl"], []byte("\n"))
	hash := func(i int) string { return string(logs[i-1][len(logs[i-1])-67 : len(logs[i-1])-3]) }
	for what, f := range map[string]struct {
		body string
		want verdict
	}{
		"right":              {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s"`, a.open, hash(2)), hidden},
		"of an earlier line": {fmt.Sprintf(`,"log":"%s","at":1,"head":"%s"`, a.open, hash(1)), hidden},
		"of another line":    {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s"`, a.open, hash(1)), found},
		"of a line to come":  {fmt.Sprintf(`,"log":"%s","at":99,"head":"%s"`, a.open, hash(1)), found},
		"of no log":          {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s"`, strings.Repeat("x", 36), hash(2)), found},
		"without a log":      {fmt.Sprintf(`,"at":2,"head":"%s"`, hash(2)), found},
		"without a place":    {fmt.Sprintf(`,"log":"%s"`, a.open), found},
		"at nothing":         {fmt.Sprintf(`,"log":"%s","at":0,"head":"%s"`, a.open, hash(1)), found},
		"a fraction":         {fmt.Sprintf(`,"log":"%s","at":2.0,"head":"%s"`, a.open, hash(2)), found},
		"an exponent":        {fmt.Sprintf(`,"log":"%s","at":2e0,"head":"%s"`, a.open, hash(2)), found},
		"twice":              {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s","at":1`, a.open, hash(2)), found},
		"another order":      {fmt.Sprintf(`,"at":2,"log":"%s","head":"%s"`, a.open, hash(2)), found},
		"of a closed log":    {fmt.Sprintf(`,"log":"%s","at":1,"head":"%s"`, a.closed, hash(1)), found},
	} {
		a.try("a checkpoint "+what, a.with("chain.jsonl", slices.Concat(good, sealed([]byte(head+f.body)))), f.want)
	}
	// The newest lines of all: nothing tells, but a head that was kept elsewhere.
	kept := string(last[len(last)-67 : len(last)-3])
	a.try("a head that was kept", a.good, hidden, kept)
	a.try("a head of nowhere", a.good, found, strings.Repeat("0", 64))
	cut := a.with("chain.jsonl", bytes.Join(lines[:len(lines)-2], nil))
	delete(cut, a.open+".jsonl")
	delete(cut, a.open+".lock")
	a.try("the newest log is gone from everywhere", cut, hidden)
	a.try("the newest log is gone from everywhere, and a head was kept", cut, found, kept)
	cut = a.with(a.open+".jsonl", bytes.Join(logs[:2], nil))
	a.try("lines behind the last checkpoint of a log that is open", cut, hidden)
}

// long tries a huge line.
func (a *arena) long() {
	size := 8 << 20
	if world.Long {
		size = 100 << 20
	}
	name := a.open + ".jsonl"
	good := a.good[name]
	junk := bytes.Repeat([]byte("x"), size)
	a.try("a huge line at the beginning", a.with(name, slices.Concat(junk, []byte("\n"), good)), found)
	a.try("a huge line in the end", a.with(name, slices.Concat(good, junk, []byte("\n"))), found)
	a.try("a huge line that has no end yet", a.with(name, slices.Concat(good, junk)), hidden)
	lines := bytes.SplitAfter(good, []byte("\n"))
	last := lines[len(lines)-2]
	text := fmt.Appendf(slices.Clone(last[:bytes.LastIndex(last, []byte(`,"hash":"`))]), `,"more":"%s"`, junk)
	a.try("a huge line that is well made", a.with(name, rechain(good, len(lines)-2, text)), hidden)
}

// removals takes files away and forges what chain.jsonl says about that.
func (a *arena) removals() {
	good := a.good["chain.jsonl"]
	lines := bytes.SplitAfter(good, []byte("\n"))
	last := lines[len(lines)-2]
	head := fmt.Sprintf(`{"v":1,"n":%d,"prev":"%s","time":"2026-01-01T00:00:00.000000Z","kind":"removed"`, len(lines), last[len(last)-67:len(last)-3])
	hashes := func(text []byte) (all []string) {
		for _, l := range bytes.SplitAfter(text, []byte("\n")) {
			if len(l) > 67 {
				all = append(all, string(l[len(l)-67:len(l)-3]))
			}
		}
		return all
	}
	first := a.closed + "-2026-01-01T00-00-02.000-size.jsonl"
	middle := a.closed + "-2026-01-01T00-00-01.000-size.jsonl"
	closed := hashes(slices.Concat(a.good[first], a.good[middle], a.good[a.closed+".jsonl"]))
	end := len(closed)
	open := hashes(a.good[a.open+".jsonl"])
	second := a.trimmed + "-2026-01-01T00-00-01.000-size.jsonl"
	trimmed := hashes(slices.Concat(a.good[second], a.good[a.trimmed+".jsonl"]))
	says := func(log string, from int, firstHash string, to int, lastHash string) string {
		return fmt.Sprintf(`,"log":"%s","at":%d,"head":"%s","from":%d,"first":"%s"`, log, to, lastHash, from, firstHash)
	}
	all := []string{first, middle, a.closed + ".jsonl"}
	for what, f := range map[string]struct {
		says    string
		removed []string
		want    verdict
	}{
		"with a statement":                    {says(a.closed, 1, closed[0], 2, closed[1]), all[:1], hidden},
		"without one":                         {"", all[:1], found},
		"only stated":                         {says(a.closed, 1, closed[0], 2, closed[1]), nil, hidden},
		"another last hash":                   {says(a.closed, 1, closed[0], 2, closed[2]), all[:1], found},
		"another last hash, and it is there":  {says(a.closed, 1, closed[0], 2, closed[2]), nil, found},
		"another first hash, and it is there": {says(a.closed, 1, closed[1], 2, closed[1]), nil, found},
		"another first hash":                  {says(a.closed, 1, closed[1], 2, closed[1]), all[:1], hidden},
		"not from the first line":             {says(a.closed, 2, closed[1], 2, closed[1]), all[:1], found},
		"fewer lines than went":               {says(a.closed, 1, closed[0], 1, closed[0]), all[:1], found},
		"more lines than went":                {says(a.closed, 1, closed[0], 3, closed[2]), all[:1], found},
		"backward":                            {says(a.closed, 1, closed[0], 0, closed[0]), nil, found},
		"the whole log":                       {says(a.closed, 1, closed[0], end, closed[end-1]), all, hidden},
		"the whole log, without its end":      {says(a.closed, 1, closed[0], end-1, closed[end-2]), all, found},
		"the whole log, and more":             {says(a.closed, 1, closed[0], end+1, closed[end-1]), all, found},
		"the whole log, with another end":     {says(a.closed, 1, closed[0], end, closed[0]), all, found},
		"of an open log, what no line told":   {says(a.open, 1, open[0], 2, open[1]), nil, found},
		"of an open log, all of it":           {says(a.open, 1, open[0], len(open), open[len(open)-1]), []string{a.open + ".jsonl"}, found},
		"of no log":                           {says(strings.Repeat("0", 36), 1, closed[0], 2, closed[1]), nil, found},
		"a second one":                        {says(a.trimmed, 3, trimmed[0], 5, trimmed[2]), []string{second}, hidden},
		"a second one that leaves a gap":      {says(a.trimmed, 4, trimmed[1], 5, trimmed[2]), []string{second}, found},
		"a second one that was there":         {says(a.trimmed, 1, trimmed[0], 2, trimmed[1]), nil, found},
		"a second file without one":           {"", []string{second}, found},
		"without what it was from":            {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s"`, a.closed, closed[1]), all[:1], found},
		"without a first hash":                {fmt.Sprintf(`,"log":"%s","at":2,"head":"%s","from":1`, a.closed, closed[1]), all[:1], found},
	} {
		files := maps.Clone(a.good)
		if f.says != "" {
			files["chain.jsonl"] = slices.Concat(good, sealed([]byte(head+f.says)))
		}
		for _, name := range f.removed {
			delete(files, name)
		}
		a.try("removed: "+what, files, f.want)
	}
}
