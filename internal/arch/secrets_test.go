// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder"
	idclient "github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	idtoken "github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
	"github.com/kazahana-db/kazahana/persistable/studio"
)

// secretField matches the names of fields that hold secrets.
var secretField = regexp.MustCompile(`(?i)secret|token|passw|^keys$|keypem|privatekey`)

// marker is what secrets are in these tests.
const marker = "hidden-marker-0123456789abcdef"

// TestSecretsAreNotPrinted prints a value of each exported type that has a field
// for a secret, in all ways of fmt and log/slog, even inside other values.
func TestSecretsAreNotPrinted(t *testing.T) {
	values := secretive(t)
	want := []string{
		"persistable.DB",            // persistable's TestDBPrintsNoKey
		"kv/embedded.Trace",         // its keys are those of the database
		"internal/reindex.Program",  // its keys are those of an index
		"persistable.VerifyOptions", // its token says where a verification goes on
	}
	for _, v := range values {
		want = append(want, strings.TrimPrefix(indirect(reflect.TypeOf(v)).PkgPath(), module+"/")+"."+indirect(reflect.TypeOf(v)).Name())
	}
	for _, name := range typesWithSecrets(t) {
		if !slices.Contains(want, name) {
			t.Errorf("%s has a field for a secret: implement fmt.Formatter and slog.LogValuer, and add a value of it to this test", name)
		}
	}
	for _, v := range values {
		for how, text := range printed(v) {
			for _, form := range forms() {
				if strings.Contains(text, form) {
					t.Errorf("%T, %s: prints the secret: %s", v, how, text)
				}
			}
		}
	}
}

// secretive returns values that hold the marker, filled or made by their packages.
func secretive(t *testing.T) []any {
	t.Helper()
	fill := func(v any) any {
		e := reflect.New(reflect.TypeOf(v)).Elem()
		if hide(e) == 0 {
			t.Fatalf("%T has no field for a secret", v)
		}
		return e.Interface()
	}
	codec, err := external.New(external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: []byte(marker)}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: "https://id.example.com", Token: marker})
	if err != nil {
		t.Fatal(err)
	}
	options := leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "all", Secret: marker}}}
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := leasehttp.NewHandler(provider, options)
	if err != nil {
		t.Fatal(err)
	}
	service := idbuilder.Options{AdminToken: marker}
	served, err := worker.New(storetest.Memory(t), worker.Options(service), worker.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	face, err := idbuilder.NewWorker(storetest.Memory(t), service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(served.Close(t.Context()), face.Close(t.Context())); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	toController, err := controller.NewClient(controller.ClientOptions{Endpoints: []string{"http://controller"}, Token: marker, Address: "http://worker"})
	if err != nil {
		t.Fatal(err)
	}
	ids := idclient.Options{URLs: []string{"https://id.example.com"}, Token: marker}
	idClient, err := idclient.New(ids)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(idClient.Close)
	return []any{
		fill(controller.ClientOptions{}), toController,
		ids, idClient, idClient.Admin(), idClient.Increment("k"), idClient.Formatted("k"), idClient.Snowflake("k"),
		idclient.Token(marker),
		service, worker.Options(service), face,
		idtoken.Options{Admin: marker},
		served, served.Tokens(),
		idtoken.Token{Text: marker},
		api.Token{Token: marker},
		settings.Auth{AdminToken: marker},
		fill(idgen.Lease{}), fill(leasehttp.Token{}), fill(leasehttp.ClientOptions{}), fill(external.Options{}), fill(fdbkv.TLS{}),
		options,
		fdbkv.Options{Network: fdbkv.Network{TLS: fill(fdbkv.TLS{}).(fdbkv.TLS)}},
		fill(kv.TransactionOptions{}),
		fill(studio.Options{}),
		fdbkv.Options{Transactions: fill(kv.TransactionOptions{}).(kv.TransactionOptions)},
		fdbkv.Network{TLS: fill(fdbkv.TLS{}).(fdbkv.TLS)},
		codec, *codec, client, handler,
	}
}

// hide puts the marker into the fields for secrets, and returns how many there are.
func hide(v reflect.Value) (n int) {
	for i := range v.NumField() {
		if !secretField.MatchString(v.Type().Field(i).Name) {
			continue
		}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = marker
		case *[]byte:
			*f = []byte(marker)
		case *map[int][]byte:
			*f = map[int][]byte{0: []byte(marker)}
		default:
			continue
		}
		n++
	}
	return n
}

// forms are how the marker may appear: as it is, as numbers, in hexadecimal.
func forms() []string {
	b := []byte(marker)
	return []string{
		marker, fmt.Sprintf("%q", marker[1:9])[1:9], strings.Trim(fmt.Sprint(b[:8]), "[]"), fmt.Sprintf("%x", b[:8]), fmt.Sprintf("%X", b[:8]),
		strings.TrimSuffix(fmt.Sprintf("%#v", b[:8])[len("[]byte{"):], "}"),
	}
}

// printed returns what comes out where v is printed, by how it is.
func printed(v any) map[string]string {
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for kind, arg := range map[string]any{
			"value": v, "pointer": p.Interface(), "slice": []any{v}, "map": map[string]any{"v": v}, "struct": struct{ V any }{v},
		} {
			texts[verb+" of a "+kind] = fmt.Sprintf(verb, arg)
		}
	}
	var text, json bytes.Buffer
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&text, nil)), slog.New(slog.NewJSONHandler(&json, nil))} {
		log.Info("value", "v", v)
		log.Info("pointer", "v", p.Interface())
		log.Info("group", slog.Group("g", "v", v))
	}
	texts["slog as text"], texts["slog as JSON"] = text.String(), json.String()
	return texts
}

// typesWithSecrets returns the exported struct types of the library with a field
// for a secret, found in the source.
func typesWithSecrets(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for _, pkg := range listed(t) {
		dir, ours := strings.CutPrefix(pkg.ImportPath, module+"/")
		if !ours || pkg.ofTest() || strings.HasPrefix(dir, "examples/") || strings.HasPrefix(dir, "internal/") || strings.Contains(dir, "/internal/") || strings.HasPrefix(dir, "cmd/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil || strings.HasSuffix(name, "_test.go") {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() && holdsSecret(spec) {
					found[dir+"."+spec.Name.Name] = true
				}
				return true
			})
		}
	}
	if len(found) < 5 {
		t.Fatalf("found %v", found)
	}
	return slices.Sorted(maps.Keys(found))
}

// holdsSecret reports whether a type is a struct with a field for a secret.
func holdsSecret(spec *ast.TypeSpec) bool {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return false
	}
	for _, field := range s.Fields.List {
		if basic, ok := field.Type.(*ast.Ident); ok && basic.Name != "string" { // a count of keys, say
			continue
		}
		for _, name := range field.Names {
			if secretField.MatchString(name.Name) {
				return true
			}
		}
	}
	return false
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
