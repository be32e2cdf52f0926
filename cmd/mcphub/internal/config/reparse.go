package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// WithEnv parses the text of f again with other variables and with these settings over it. What f
// leaves out of its text is left out of the result.
func (f *File) WithEnv(env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	var in *File
	var problems []Problem
	var err error
	if f.Path == "" {
		in, problems, err = WithoutFile(env, above...)
	} else {
		in, problems, err = Parse(f.src.Name, f.src.Data, env, above...)
	}
	if err != nil {
		return nil, problems, err
	}
	in.Path, in.Trail = f.Path, f.Trail
	in, _ = in.Narrow(f)
	in.Sum = f.Sum
	return in, problems, nil
}

// DifferingKey names the first key in which two readings of a file differ and that a variable of a
// client may not change, because it is no matter of one client; "" for none. It may change how a
// server is started or reached, what is opened to it, and roots.fallback.
func (f *File) DifferingKey(o *File) string {
	if slices.CompareFunc(f.Servers, o.Servers, func(a, b Server) int { return strings.Compare(a.Key, b.Key) }) != 0 {
		return "mcpServers"
	}
	for i := range f.Servers {
		a, b := f.Servers[i], o.Servers[i]
		for _, s := range []*Server{&a, &b} {
			s.Command, s.Args, s.Env, s.EnvFile, s.Cwd, s.URL, s.Headers, s.Auth, s.TLS, s.HeadersFrom, s.Sandbox.Read, s.Sandbox.Write = "", nil, nil, "", "", "", nil, nil, nil, nil, nil, nil
		}
		if a.Err == nil && b.Err == nil && !reflect.DeepEqual(a, b) { // of one that cannot be read nothing is known
			return f.At("mcpServers", a.Name).Key
		}
	}
	a, b := *f, *o
	a.Roots.Fallback, b.Roots.Fallback = nil, nil
	return findDifference(reflect.ValueOf(a), reflect.ValueOf(b), "")
}

// findDifference names the first key in which two values differ. The tags of the types name the keys.
func findDifference(a, b reflect.Value, at string) string {
	if a.Kind() != reflect.Struct {
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			return ""
		}
		return at
	}
	for i := range a.NumField() {
		tag := a.Type().Field(i).Tag.Get("koanf")
		if tag == "" || tag == "-" {
			continue
		}
		if key := findDifference(a.Field(i), b.Field(i), strings.TrimPrefix(fmt.Sprintf("%s.%s", at, tag), ".")); key != "" {
			return key
		}
	}
	return ""
}
