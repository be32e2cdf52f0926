package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestExpressionsCompile holds that no command compiles regular expressions before main, and that each of the ones that
// wait for their first use (internal/lazyregexp) compiles.
func TestExpressionsCompile(t *testing.T) {
	t.Parallel()
	compiled := 0
	eachSource(t, func(s source) {
		if strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "e2e/") || strings.HasPrefix(s.path, "packaging/") {
			return
		}
		if strings.HasPrefix(s.path, "tools/") { // they are no part of the program
			return
		}
		for _, d := range s.file.Decls {
			_, variable := d.(*ast.GenDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				at := s.set.Position(call.Pos())
				switch types.ExprString(call.Fun) {
				case "regexp.MustCompile", "regexp.Compile":
					if variable {
						t.Errorf("%s: every start of the program pays for this: use lazyregexp.New", at)
					}
				case "lazyregexp.New":
					compiled++
					text, known := textOf(s.file, call.Args[0])
					if !known {
						t.Errorf("%s: the expression is no constant of this file", at)
					} else if _, err := regexp.Compile(text); err != nil {
						t.Errorf("%s: %v", at, err)
					}
				}
				return true
			})
		}
	})
	if compiled < 100 {
		t.Errorf("%d expressions were found; are they written otherwise now?", compiled)
	}
}

// textOf returns the value of a constant text: a literal, a constant of the same file, or a sum of them.
func textOf(f *ast.File, e ast.Expr) (text string, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isLeft := textOf(f, e.X)
		right, isRight := textOf(f, e.Y)
		return left + right, isLeft && isRight && e.Op == token.ADD
	case *ast.Ident:
		if value := constant(f, e.Name); value != nil {
			return textOf(f, value)
		}
	}
	return "", false
}

// constant returns what a file gives a name for, at package level; nil if it does not.
func constant(f *ast.File, name string) (value ast.Expr) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, n := range v.Names {
				if n.Name == name && i < len(v.Values) {
					value = v.Values[i]
				}
			}
		}
	}
	return value
}
