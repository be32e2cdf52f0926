package uri

import (
	"regexp"
	"strings"

	"mcphub/internal/lazyregexp"
	"mcphub/validate/chars"
)

// IsForeignFile reports a file: URI or template whose authority is neither empty nor localhost, so that only a server
// that made the name up can mean something by it.
func IsForeignFile(uri string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(uri), "file://")
	if !ok {
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	return host != "" && host != "localhost" && !strings.HasPrefix(host, "{")
}

var templateVar = lazyregexp.New(`\{[+#./;?&]?([^{}]*)\}`)

// MaxLength bounds a template, and a URI that is held against one: regular expressions cost their product.
const MaxLength = 4 << 10

// Match reads a URI as an RFC 6570 template and returns the variables, decoded once. SDKs differ on what a variable
// may hold: first the narrow reading is tried (no slash but after "+"), then one if it may hold anything.
func Match(template, uri string) (map[string]string, bool) {
	if len(template) > MaxLength || len(uri) > MaxLength {
		return nil, false
	}
	for _, wide := range []bool{false, true} {
		var pattern strings.Builder
		var names []string
		pattern.WriteString(`(?is)^`) // schemes and hosts have no case
		at := 0
		for _, m := range templateVar.FindAllStringSubmatchIndex(template, 64) {
			pattern.WriteString(regexp.QuoteMeta(template[at:m[0]]))
			at = m[1]
			operator := template[m[0]+1]
			for i, name := range strings.Split(template[m[2]:m[3]], ",") {
				if i > 0 {
					pattern.WriteString(`[,&/.;]?`)
				}
				name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
				names = append(names, name)
				switch operator {
				case '?', '&', ';':
					pattern.WriteString(`(?:[?&;]?` + regexp.QuoteMeta(name) + `=?)?`)
				case '/', '#', '.':
					pattern.WriteString(`[/#.]?`)
				}
				if wide || strings.IndexByte("+#/", operator) >= 0 {
					pattern.WriteString(`(.*)`)
				} else {
					pattern.WriteString(`([^/]*)`)
				}
			}
		}
		pattern.WriteString(regexp.QuoteMeta(template[at:]) + `$`)
		re, err := regexp.Compile(pattern.String())
		if err != nil {
			return nil, false
		}
		if m := re.FindStringSubmatch(uri); m != nil {
			vars := make(map[string]string, len(names))
			for i, name := range names {
				vars[name] = chars.DecodePercent(m[i+1])
			}
			return vars, true
		}
	}
	return nil, false
}

// Fill puts a value into its variable; the other variables stay empty.
func Fill(template, name, value string) string {
	return templateVar.ReplaceAllStringFunc(template, func(v string) string {
		for n := range strings.SplitSeq(strings.Trim(v, "{}+#./;?&"), ",") {
			if n, _, _ = strings.Cut(strings.TrimSuffix(n, "*"), ":"); n == name {
				return value
			}
		}
		return ""
	})
}
