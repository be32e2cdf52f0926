package search

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Tool is what the index knows of one tool.
type Tool struct {
	Server      string
	Name        string
	Title       string
	Description string
	Schema      []byte // of its arguments, as the server sent it
}

// A Hit is one answer.
type Hit struct {
	Tool  int     // its place in the list that the index was made of
	Score float64 // share of the question that the tool explains, by weight; only good for comparing
}

// An Index is what can be searched of one list of tools.
type Index struct {
	tools int
	terms map[string][]posting
	known []string // the terms, sorted: misspelt words are looked for in them
}

// A posting describes how much a term counts for a tool.
type posting struct {
	tool   int
	weight float64 // between 0 and 1, without regard to how rare the term is
}

// Bounds of what is read.
const (
	longestText   = 8 << 10
	longestSchema = 256 << 10
	deepestSchema = 8
	maxTerms      = 4096 // of one tool, each time it occurs
	longestWord   = 40
)

// The fields of a tool.
const (
	fieldName = iota
	fieldTitle
	fieldServer
	fieldSummary // the first sentence of the description
	fieldRest    // of the description
	fieldArgs    // names of arguments, enumerated values
	fieldArgText // descriptions of arguments
	fields
)

// How much a word counts in each field, and how much a long field is held against it.
var (
	boost  = [fields]float64{fieldName: 5, fieldTitle: 1.5, fieldServer: 2.5, fieldSummary: 2, fieldRest: 0.8, fieldArgs: 0.5, fieldArgText: 0.2}
	length = [fields]float64{fieldName: 0.7, fieldTitle: 0.5, fieldServer: 0, fieldSummary: 0.4, fieldRest: 0.7, fieldArgs: 0.7, fieldArgText: 0.7}
)

// saturation is how soon it no longer matters how often a word occurs.
const saturation = 2.0

// New makes an index of tools.
func New(tools []Tool) *Index {
	counts := make([]map[string]*[fields]float64, len(tools))
	sizes := make([][fields]float64, len(tools))
	var mean [fields]float64
	for i := range tools {
		counts[i] = map[string]*[fields]float64{}
		tools[i].readTerms(func(field int, term string) {
			c := counts[i][term]
			if c == nil {
				c = &[fields]float64{}
				counts[i][term] = c
			}
			c[field]++
			sizes[i][field]++
		})
		for f, n := range sizes[i] {
			mean[f] += n / float64(len(tools))
		}
	}
	x := &Index{tools: len(tools), terms: map[string][]posting{}}
	for i, terms := range counts {
		for term, c := range terms {
			sum := 0.0
			for f, n := range c {
				if n > 0 {
					sum += boost[f] * n / (1 - length[f] + length[f]*sizes[i][f]/mean[f])
				}
			}
			x.terms[term] = append(x.terms[term], posting{i, sum / (saturation + sum)})
		}
	}
	for term := range x.terms {
		x.known = append(x.known, term)
	}
	slices.Sort(x.known)
	return x
}

// scoreRarity returns how much a word counts that some of all tools have.
func scoreRarity(all, having int) float64 {
	return math.Log(1 + (float64(all)-float64(having)+0.5)/(float64(having)+0.5))
}

// readTerms calls yield with every term of a tool.
func (t *Tool) readTerms(yield func(field int, term string)) {
	left := maxTerms
	put := func(field int, text string) {
		if len(text) > longestText {
			text = text[:longestText]
		}
		splitStems(text, func(w string) {
			if len(w) <= longestWord && left > 0 {
				left--
				yield(field, w)
			}
		})
	}
	put(fieldName, t.Name)
	put(fieldTitle, t.Title)
	put(fieldServer, t.Server)
	summary, rest := firstSentence(t.Description)
	put(fieldSummary, summary)
	put(fieldRest, rest)
	if len(t.Schema) > longestSchema {
		return
	}
	var schema any
	if json.Unmarshal(t.Schema, &schema) == nil { // a tool is found without its arguments as well
		readArguments(schema, 0, put)
	}
}

func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for _, stop := range []string{"\n", ". "} {
		if i := strings.Index(text[:end], stop); i > 0 {
			end = i
		}
	}
	return text[:end], text[end:]
}

// readArguments reads the names, descriptions and enumerated values of a schema.
func readArguments(schema any, depth int, put func(field int, text string)) {
	m, ok := schema.(map[string]any)
	if !ok || depth > deepestSchema {
		return
	}
	if s, ok := m["description"].(string); ok && depth > 0 {
		put(fieldArgText, s)
	}
	if list, ok := m["enum"].([]any); ok {
		for _, v := range list {
			if s, ok := v.(string); ok {
				put(fieldArgs, s)
			}
		}
	}
	if s, ok := m["const"].(string); ok {
		put(fieldArgs, s)
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			put(fieldArgs, name)
			readArguments(properties[name], depth+1, put)
		}
	}
	readArguments(m["items"], depth+1, put)
	for _, of := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := m[of].([]any); ok {
			for _, sub := range list {
				readArguments(sub, depth+1, put)
			}
		}
	}
}
