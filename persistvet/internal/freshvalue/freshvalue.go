// SPDX-License-Identifier: Apache-2.0

// Package freshvalue reports ids, clocks and random numbers that a transaction function
// takes: a retry takes others.
//
//	order := NewOrder(Order{Number: "A-1"}) // before Transact: each attempt writes this record
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		return orders.In(tx).Create(ctx, order)
//	})
//
// A clock that is only compared, or measures how long something takes, is not reported, nor
// is anything in a transaction that only reads, which stores nothing.
package freshvalue

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
	"github.com/kazahana-db/kazahana/persistvet/internal/ignore"
	"github.com/kazahana-db/kazahana/persistvet/internal/txfunc"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// Analyzer reports ids, clocks and random numbers that a transaction function takes.
var Analyzer = &analysis.Analyzer{
	Name: "freshvalue",
	Doc: `report ids, clocks and random numbers that a transaction function takes

A retry runs the function again and takes others. If the acknowledgement of a commit was
lost, both attempts have written: two records instead of one. Take the value before
the transaction.`,
	URL:        "https://github.com/kazahana-db/kazahana/blob/main/docs/persistvet.md#freshvalue",
	Requires:   []*analysis.Analyzer{inspect.Analyzer, txfunc.Analyzer, ignore.Analyzer},
	FactTypes:  []analysis.Fact{new(fresh)},
	ResultType: ignore.UsesType,
	Run:        run,
}

// fresh is the fact that a function returns another value each time.
type fresh struct{ What string }

// AFact makes fresh a fact.
func (*fresh) AFact() {}

// String describes the fact in the tests of analyzers.
func (f *fresh) String() string { return "returns " + f.What }

func run(pass *analysis.Pass) (any, error) {
	f := finder{pass: pass, root: pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(), stopwatches: map[*types.Var]bool{}}
	if !api.IsStandard(pass.Pkg.Path()) {
		f.exportFacts()
	}
	r := ignore.NewReporter(pass)
	for _, fn := range pass.ResultOf[txfunc.Analyzer].(txfunc.Functions) {
		if !fn.IsReadOnly() {
			f.check(r, fn)
		}
	}
	return r.Uses, nil
}

// library has the functions of a package that return another value each time.
type library struct {
	what  string
	names []string
}

// has reports whether a name is in the library.
func (l library) has(name string) bool {
	return slices.ContainsFunc(l.names, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// foreign are functions of other modules and of Go's library that return another value
// each time, by package. A name that ends in * stands for all that begin so.
var foreign = map[string]library{
	"time":                              {"the time", []string{"Now"}},
	"math/rand":                         {"a random number", random},
	"math/rand/v2":                      {"a random number", random},
	"crypto/rand":                       {"random bytes", []string{"Read", "Int", "Text", "Prime"}},
	"github.com/google/uuid":            {"a UUID", []string{"New", "NewString", "NewRandom", "NewRandomFromReader", "NewUUID", "NewV6", "NewV7", "NewV7FromReader", "NewDCEPerson", "NewDCEGroup"}},
	"github.com/gofrs/uuid":             {"a UUID", []string{"NewV1", "NewV4", "NewV6", "NewV7"}},
	"github.com/gofrs/uuid/v5":          {"a UUID", []string{"NewV1", "NewV4", "NewV6", "NewV7"}},
	"github.com/satori/go.uuid":         {"a UUID", []string{"NewV1", "NewV4"}},
	"github.com/oklog/ulid":             {"a ULID", ulids},
	"github.com/oklog/ulid/v2":          {"a ULID", ulids},
	"github.com/rs/xid":                 {"an id", []string{"New", "NewWithTime"}},
	"github.com/segmentio/ksuid":        {"an id", []string{"New", "NewRandom", "NewRandomWithTime"}},
	"github.com/bwmarrin/snowflake":     {"an id", []string{"Node.Generate"}},
	"github.com/sony/sonyflake":         {"an id", []string{"Sonyflake.NextID"}},
	"github.com/matoous/go-nanoid/v2":   {"an id", []string{"New", "Must", "Generate", "MustGenerate"}},
	"github.com/lithammer/shortuuid/v4": {"an id", []string{"New", "NewWith*"}},
	"github.com/benbjohnson/clock":      {"the time", []string{"Clock.Now"}},
	"github.com/jonboulle/clockwork":    {"the time", []string{"Clock.Now"}},
	"k8s.io/utils/clock":                {"the time", []string{"Clock.Now", "PassiveClock.Now"}},
}

var (
	random = []string{"Int*", "Uint*", "Float*", "N", "Perm", "Read", "NormFloat64", "ExpFloat64"}
	ulids  = []string{"Make", "New", "MustNew", "MustNewDefault"}
)

// finder looks for fresh values in one package.
type finder struct {
	pass *analysis.Pass
	root inspector.Cursor

	stopwatches map[*types.Var]bool // whether variables are only compared
}

// check reports the fresh values of one transaction function. Those within the
// arguments of a reported call are a part of it.
func (f *finder) check(r *ignore.Reporter, fn *txfunc.Function) {
	fn.Cursor.Inspect([]ast.Node{(*ast.CallExpr)(nil)}, func(c inspector.Cursor) bool {
		call := c.Node().(*ast.CallExpr)
		what := f.source(call)
		if what == "" || f.isHarmless(c) || fn.IsGuarded(c) {
			return what == ""
		}
		r.Report(analysis.Diagnostic{
			Pos: call.Pos(), End: call.End(),
			Message: "the transaction function takes " + what + ": a retry takes another one, and after a lost acknowledgement both may be stored. " +
				"Take it before the transaction",
		})
		return false
	})
}

// source says what a call takes: "" if it is nothing that differs each time.
func (f *finder) source(call *ast.CallExpr) string {
	fn := api.Callee(f.pass.TypesInfo, call)
	if fn == nil || fn.Pkg() == nil {
		return ""
	}
	if api.Setters.Has(fn) {
		return "an id"
	}
	if api.Sources.Has(fn) {
		return "an id (" + f.name(fn) + ")"
	}
	if from, ok := foreign[fn.Pkg().Path()]; ok && from.has(api.FullName(fn)) {
		return from.what + " (" + f.name(fn) + ")"
	}
	var fact fresh
	if f.pass.ImportObjectFact(fn, &fact) {
		return fact.What + " through " + f.name(fn)
	}
	return ""
}

// name is the name of a function as a reader of the package writes it.
func (f *finder) name(fn *types.Func) string {
	if fn.Pkg() == f.pass.Pkg || fn.Signature().Recv() != nil {
		return api.FullName(fn)
	}
	return fn.Pkg().Name() + "." + fn.Name()
}
