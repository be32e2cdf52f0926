package trail

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcphub/hub/audit"
)

// fill gives every field of a record a value of its own, but for the ones of one that are none
// of a line.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n)
			}
		}
	case reflect.String:
		v.SetString("v" + strings.Repeat("x", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`"raw"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	}
}

// TestEveryFieldIsWrittenAndRead: the types are the table of what a line holds. A field that is
// not written, or not read under its own name, is missing here.
func TestEveryFieldIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	var want audit.Record
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n)
	dir, began := t.TempDir(), time.Now().Truncate(time.Second)
	log, err := audit.Open(audit.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Put(audit.KindDecision, &want, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := log.Run(ended); err != nil { // it writes what is left, and closes the file
		t.Fatal(err)
	}
	all, err := Decisions(dir, Filter{})
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	if got := all[0].Record; !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwritten\n%+v", got, want)
	}
	if took := all[0].Time; took.Before(began) {
		t.Error(took)
	}
}

// TestTheDocumentNamesEveryMember keeps docs/audit-format.md complete.
func TestTheDocumentNamesEveryMember(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.FromSlash("../../../docs/audit-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		for of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(string(doc), "`"+name+"`") && !strings.Contains(string(doc), `"`+name+`"`) {
				t.Errorf("docs/audit-format.md does not name %q, a member of %s", name, of)
			}
			look(f.Type)
		}
	}
	look(reflect.TypeFor[Event]())
}
