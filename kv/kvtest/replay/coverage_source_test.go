// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// constant is a constant of package kv.
type constant struct {
	name  string
	value int
}

// constantsOf returns the constants of a type that a file of package kv
// declares, so that the ledger also lists constants that no scenario uses.
func constantsOf(t *testing.T, file, typ string) (all []constant) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		counts := false // the group counts by iota
		for i, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if i == 0 {
				counts = len(v.Values) == 1 && isIdent(v.Values[0], "iota") && isIdent(v.Type, typ)
			}
			switch {
			case counts:
				all = append(all, constant{v.Names[0].Name, i})
			case v.Type != nil && isIdent(v.Type, typ):
				n, err := strconv.Atoi(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, constant{v.Names[0].Name, n})
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("kv/%s declares no constant of type %s", file, typ)
	}
	return all
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// method is one of the contract's methods.
type method struct {
	name  string
	fails bool // it returns an error, at once or later
}

// methodsOf returns the methods of the contract's interfaces.
func methodsOf() (all []method) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[kv.Database](), reflect.TypeFor[kv.Transaction](), reflect.TypeFor[kv.ConflictRanger](),
	} {
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			all = append(all, method{typ.Name() + "." + m.Name, m.Name != "Snapshot" && m.Type.NumOut() > 0})
		}
	}
	return all
}

// traceName returns the name that traces use for a constant, or else the
// constant's own.
func traceName[C ~int](names map[string]C, c constant) string {
	for name, value := range names {
		if int(value) == c.value {
			return name
		}
	}
	return strings.ToLower(c.name)
}
