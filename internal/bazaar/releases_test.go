// SPDX-License-Identifier: Apache-2.0

package bazaar_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/codegen"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// release makes what a release leaves, before it has its tag; with -tags foundationdb only the keys of a cluster.
var release = flag.String("release", "", "write testdata/`vX.Y.Z`, which no release of that name has written yet")

// TestReleases opens what each release has left in testdata: a folder of the embedded engine, the keys of a cluster, an exported tenant and a
// persist.lock, all with every kind of index. This version reads all records, finds no fault, and goes on writing. A file of a release
// that is out never changes: data like it exists.
func TestReleases(t *testing.T) {
	if *release != "" {
		writeRelease(t, filepath.Join("testdata", *release))
	}
	folders, err := filepath.Glob(filepath.Join("testdata", "v*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("there are the releases %q: %v", folders, err)
	}
	for _, folder := range folders {
		records := recordsOf(t, filepath.Join(folder, "records.jsonl"))
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Run("folder", func(t *testing.T) { continueDatabase(t, folderOf(t, folder), records) })
			t.Run("cluster", func(t *testing.T) {
				engine := enginetest.InProcess(t) // its versions are above those of any cluster
				contents.StorePairs(t, engine, string(must(os.ReadFile(filepath.Join(folder, "cluster.txt")))(t)))
				continueDatabase(t, engine, records)
			})
			t.Run("tenant", func(t *testing.T) { importTenant(t, filepath.Join(folder, "tenant-1.kzt"), records) })
			t.Run("lock", func(t *testing.T) {
				var out strings.Builder
				if code := codegen.Command(t.Context(), []string{"-check", "-against", filepath.Join(folder, "persist.lock"), "."}, &out, &out); code != 0 {
					t.Errorf("persistgen -check -against gives %d:\n%s", code, out.String())
				}
			})
		})
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openDB(t *testing.T, engine kv.Database) *persistable.DB {
	t.Helper()
	db := must(persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// folderOf opens a copy of a release's folder of the embedded engine.
func folderOf(t *testing.T, release string) kv.Database {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(release, "folder"))); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Verify(t.Context(), dir, embedded.Options{}); err != nil {
		t.Error(err)
	}
	engine := must(embedded.Open(dir))(t)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// record is a record of a release: its fields by name, as JSON has them. Versions are left out.
type record struct {
	Store  string
	Fields map[string]any
}

func recordsOf(t *testing.T, file string) (all []record) {
	t.Helper()
	for line := range bytes.Lines(must(os.ReadFile(file))(t)) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) < 40 {
		t.Fatalf("%s has %d records", file, len(all))
	}
	return all
}

// place is a store of any type of records.
type place struct {
	name   string
	scan   func(ctx context.Context) ([]any, error)
	verify func(context.Context, persistable.VerifyOptions) (persistable.Report, error)
}

func placeOf[T, ID any](s *persistable.Store[T, ID]) place {
	scan := func(ctx context.Context) (all []any, err error) {
		for r, err := range s.Scan().All(ctx) {
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		return all, nil
	}
	return place{strings.Join(s.Path(), "/"), scan, s.Indexes().Verify}
}

func tenantPlaces(db *persistable.DB, tenant string) []place {
	return []place{placeOf(&bazaar.OrderStoreOf(db, tenant).Store), placeOf(&bazaar.AccountStoreOf(db, tenant).Store)}
}

func places(db *persistable.DB) (all []place) {
	for _, tenant := range tenantNames {
		all = append(all, tenantPlaces(db, tenant)...)
	}
	return append(all, placeOf(&bazaar.EventStoreOf(db).Store), placeOf(&bazaar.CounterStoreOf(db).Store), placeOf(&bazaar.SettingStoreOf(db).Store))
}

var tenantNames = []string{"tenant-1", "tenant-2", "tenant-3"}

// read returns the records of stores.
func read(t *testing.T, places []place) (all []record) {
	t.Helper()
	for _, p := range places {
		for _, v := range must(p.scan(t.Context()))(t) {
			all = append(all, record{p.name, fieldsOf(t, v)})
		}
	}
	return all
}

// fieldsOf returns the fields of a struct as JSON has them. Times are texts, because JSON has none of years after 9999.
func fieldsOf(t *testing.T, pointer any) (fields map[string]any) {
	t.Helper()
	values := map[string]any{}
	for field, value := range reflect.ValueOf(pointer).Elem().Fields() {
		if !field.IsExported() {
			continue
		}
		switch value := value.Interface().(type) {
		case persistable.Version: // another one in each database
		case time.Time:
			values[field.Name] = value.Format(time.RFC3339Nano)
		default:
			values[field.Name] = value
		}
	}
	if err := json.Unmarshal(must(json.Marshal(values))(t), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// compare compares records with those of a release, which may lack fields that this version has added.
func compare(t *testing.T, got, want []record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("there are %d records, want %d", len(got), len(want))
	}
	for i, w := range want {
		for name, value := range w.Fields {
			if g := got[i]; g.Store != w.Store || !reflect.DeepEqual(g.Fields[name], value) {
				t.Errorf("record %d of %s: %s is %v, want %v of %s", i, g.Store, name, g.Fields[name], value, w.Store)
			}
		}
	}
}

func verify(t *testing.T, places []place) {
	t.Helper()
	for _, p := range places {
		if r, err := p.verify(t.Context(), persistable.VerifyOptions{}); err != nil || len(r.Faults) > 0 {
			t.Errorf("%s: %+v, %v", p.name, r, err)
		}
	}
}

// continueDatabase reads the database of a release, writes to it with every kind of index, and verifies it before and after that.
func continueDatabase(t *testing.T, engine kv.Database, records []record) {
	db := openDB(t, engine)
	compare(t, read(t, places(db)), records)
	verify(t, places(db))
	for _, tenant := range tenantNames {
		changeOrders(t, bazaar.OrderStoreOf(db, tenant), tenant)
	}
	verify(t, places(db))
}

// changeOrders creates, changes and deletes orders. The change feed tells of each, and counts follow.
func changeOrders(t *testing.T, orders *bazaar.OrderStore, tenant string) {
	ctx := t.Context()
	had := must(orders.CountAll(ctx))(t)
	version := must(orders.OrderedByNumber().First(ctx))(t).Version
	a, b := &bazaar.Order{TenantID: tenant, Number: "new", Amount: 7, Tags: []string{"new"}}, &bazaar.Order{TenantID: tenant, Number: "gone"}
	for i, o := range []*bazaar.Order{a, b} {
		if err := orders.CreateWithID(ctx, idgen.ID(1+i), o); err != nil {
			t.Fatal(err)
		}
	}
	first := must(orders.ByNumber(ctx, "A-1001"))(t)
	if err := orders.Update(ctx, first.ID, func(o *bazaar.Order) error { o.Status, o.Country, o.Amount = bazaar.Shipped, "IT", 1; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := orders.Delete(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	if n := must(orders.CountAll(ctx))(t); n != had+1 {
		t.Errorf("%s has %d orders, want %d", tenant, n, had+1)
	}
	changed := must(orders.ByNumber(ctx, "A-1001"))(t)
	if bytes.Compare(changed.Version[:], version[:]) <= 0 {
		t.Errorf("%s: a change has version %x, after %x", tenant, changed.Version, version)
	}
}

// importTenant imports the tenant that a release has exported into an empty database.
func importTenant(t *testing.T, file string, records []record) {
	db := openDB(t, enginetest.InProcess(t))
	stream := must(os.Open(file))(t)
	defer stream.Close()
	must(tenants.Of(db, "tenants").Import(t.Context(), "tenant-1", stream, tenants.ImportOptions{}))(t)
	var of []record
	for _, r := range records {
		if strings.HasPrefix(r.Store, "tenants/tenant-1/") {
			of = append(of, r)
		}
	}
	compare(t, read(t, tenantPlaces(db, "tenant-1")), of)
	verify(t, tenantPlaces(db, "tenant-1"))
	changeOrders(t, bazaar.OrderStoreOf(db, "tenant-1"), "tenant-1")
	verify(t, tenantPlaces(db, "tenant-1"))
}

// writeRelease writes what this version leaves.
func writeRelease(t *testing.T, folder string) {
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if enginetest.Cluster {
		engine := enginetest.Open(t)
		must(0, bazaar.Seed(t.Context(), engine))(t)
		write("cluster.txt", []byte(contents.Pairs(t, engine)))
		return
	}
	data := filepath.Join(folder, "folder")
	must(0, os.RemoveAll(data))(t)
	must(0, os.MkdirAll(folder, 0o755))(t)
	engine := must(embedded.Open(data))(t)
	must(0, bazaar.Seed(t.Context(), engine))(t)
	db := must(persistable.Open(t.Context(), engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}))(t)
	var lines, stream bytes.Buffer
	for _, r := range read(t, places(db)) {
		fmt.Fprintf(&lines, "%s\n", must(json.Marshal(r))(t))
	}
	write("records.jsonl", lines.Bytes())
	must(tenants.Of(db, "tenants").Export(t.Context(), "tenant-1", &stream, tenants.ExportOptions{}))(t)
	write("tenant-1.kzt", stream.Bytes())
	write("persist.lock", must(os.ReadFile("persist.lock"))(t))
	must(0, db.Close())(t)
	must(0, engine.Close())(t)
	for _, name := range []string{"LOCK", "HOLDER", "base/LOCK"} { // of the process that had it open
		_ = os.Remove(filepath.Join(data, filepath.FromSlash(name)))
	}
}
