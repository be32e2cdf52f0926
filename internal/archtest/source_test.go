package archtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A source is one Go file.
type source struct {
	path string // from the root of the tree, with slashes
	text string
	set  *token.FileSet
	file *ast.File
}

// sources are the Go files of the module, for all systems alike.
var sources = sync.OnceValues(func() (all []source, err error) {
	const root = "../.."
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path == root+"/internal/jsonschema": // its files are those of a library
			return filepath.SkipDir
		case d.IsDir() && path != root && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name()[0] == '.' && d.Name() != ".."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := source{path: filepath.ToSlash(rel), text: string(text), set: token.NewFileSet()}
		s.file, err = parser.ParseFile(s.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		all = append(all, s)
		return err
	})
	return all, err
})

func eachSource(t *testing.T, each func(s source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		each(s)
	}
}

// plainMethods say all in their name.
var plainMethods = []string{"Error", "String", "Unwrap", "Is", "MarshalJSON", "UnmarshalJSON", "Read", "Write", "Close", "Len", "Less", "Swap"}

// TestExportedIsDocumented holds that what a package offers says what it is.
func TestExportedIsDocumented(t *testing.T) {
	t.Parallel()
	eachSource(t, func(s source) {
		path, set, f := s.path, s.set, s.file
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d)) && !slices.Contains(plainMethods, d.Name.Name)) {
					t.Errorf("%s: %s has no comment", set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() && cmp.Or(d.Doc, s.Doc) == nil {
						t.Errorf("%s: %s has no comment", set.Position(s.Pos()), s.Name.Name)
					}
				}
			}
		}
	})
}

func receiver(d *ast.FuncDecl) string {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// TestNoOrderByChance holds that a list written out is gone through in the order in which it stands, so that the same call has
// the same answer every time.
func TestNoOrderByChance(t *testing.T) {
	t.Parallel()
	eachSource(t, func(s source) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if r, ok := n.(*ast.RangeStmt); ok && !strings.HasSuffix(s.path, "_test.go") {
				if list, ok := r.X.(*ast.CompositeLit); ok {
					if _, ok := list.Type.(*ast.MapType); ok {
						t.Errorf("%s: a map has no order: write an array or a slice", s.set.Position(r.Pos()))
					}
				}
			}
			return true
		})
	})
}
