// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// floors is the house from the ground up. A room is a package and all packages below
// it that are not rooms themselves. A package imports packages of its own room and of
// lower floors. docs/architecture.md draws the same picture. The engines and the
// homes of leases and IDs are above the layers: no layer knows which one it has.
var floors = []string{
	"internal/access internal/api internal/arch internal/fdbheader internal/goldens internal/goroutine internal/nearest internal/optional internal/redact internal/refusal internal/schedule internal/seed internal/sentinel internal/sleep internal/uptime",
	"kv tuple internal/wire internal/shape internal/snippets internal/testcert internal/servers internal/rolling internal/idchaos internal/fdbchaos internal/browsertest internal/shell",
	"directory internal/cluster internal/measure internal/newer internal/rangesize internal/remote internal/worklist",
	"idgen rafttimer internal/headers internal/rank internal/schema kv/kvtest/faults",
	"codegen internal/index lease persistvet",
	"leasefdb internal/reindex",
	"internal/fold",
	"internal/words",
	"election idbuilder persistable placement",
	"placement/host persistable/studio cmd/idbuilder/internal/deployed cmd/kazahana/internal/move",
	"kv/embedded kv/fdbkv kv/internal lease/memory lease/redis lease/sqlite idbuilder/store/file idbuilder/store/kvstore idbuilder/store/redis idbuilder/store/internal/sqlstore",
	"persistable/persistabletest idbuilder/store/mysql idbuilder/store/postgres idbuilder/store/storetest kv/kvtest internal/bazaar internal/contents internal/dynamictest internal/enginetest cmd/kazahana/internal/doctor",
	"idbuilder/store/internal/sqltest",
	"cmd deploy site",
}

// walls are the packages that import less than their floor allows.
var walls = map[string]string{
	"kv":                      "",
	"tuple":                   "",
	"placement":               "",
	"internal/placement/core": "placement internal/placement/recency",
	"codegen":                 "codegen internal/nearest internal/schema",
}

// outside lists who imports packages of other modules.
var outside = map[string]string{
	"github.com/BurntSushi/toml":                "internal/idbuilder/settings",
	"github.com/chromedp":                       "internal/browsertest",
	"github.com/clipperhouse/uax29/v2":          "internal/words",
	"github.com/cockroachdb/pebble/v2":          "kv/embedded cmd/kazahana/internal/cli",
	"github.com/fsnotify/fsnotify":              "codegen",
	"github.com/go-sql-driver/mysql":            "idbuilder/store/mysql internal/servers",
	"github.com/google/btree":                   "lease/memory",
	"github.com/google/go-cmp":                  "internal/goldens internal/placement/placementtest",
	"github.com/jackc/pgx/v5":                   "idbuilder/store/postgres internal/servers",
	"github.com/oklog/ulid/v2":                  "idgen internal/bazaar persistable/studio persistable/dynamic persistable/persistimpl",
	"github.com/prometheus/client_golang":       "idbuilder internal/idbuilder/worker cmd/kazahana/internal/cli cmd/idbuilder",
	"github.com/redis/go-redis/v9":              "lease/redis idbuilder/store/redis cmd/kazahana/internal/cli cmd/idbuilder internal/servers",
	"github.com/rogpeppe/go-internal":           "codegen",
	"github.com/spf13":                          "internal/shell cmd/kazahana/internal/cli cmd/idbuilder",
	"github.com/vbauerster/mpb/v8":              "internal/shell",
	"go.opentelemetry.io/otel":                  "election/electionotel idbuilder internal/idbuilder/worker idgen/idgenotel kv/embedded/embeddedotel lease/leaseotel persistable/persistableotel placement/placementotel cmd/kazahana/internal/cli cmd/idbuilder",
	"go.opentelemetry.io/proto/slim/otlp":       "cmd/idbuilder",
	"go.uber.org/goleak":                        "internal/enginetest",
	"golang.org/x/sys":                          "internal/uptime",
	"golang.org/x/term":                         "internal/shell cmd/kazahana/internal/cli",
	"golang.org/x/text":                         "internal/fold",
	"golang.org/x/time":                         "internal/idbuilder/token internal/idbuilder/worker cmd/idbuilder",
	"golang.org/x/tools":                        "codegen persistvet cmd/persistvet",
	"google.golang.org/protobuf":                "internal/wire persistable/dynamic internal/reindex cmd/idbuilder",
	"modernc.org/sqlite":                        "lease/sqlite",
	"github.com/apple/foundationdb/bindings/go": "kv/fdbkv",
}

// TestArrowsPointDown checks the imports of every package, those of files that need
// the build tag foundationdb too.
func TestArrowsPointDown(t *testing.T) {
	checked := 0
	for _, pkg := range append(listed(t), listed(t, "-tags", "foundationdb")...) {
		name, ours := strings.CutPrefix(pkg.ImportPath, module+"/")
		if !ours || pkg.ofTest() || strings.HasPrefix(name, "examples/") { // examples are programs of users
			continue
		}
		if floorOf(name) < 0 {
			t.Errorf("%s is on no floor: give its room one, here and in docs/architecture.md", name)
		}
		for _, imported := range pkg.Imports {
			if !standard(imported) && !mayImport(name, imported) {
				t.Errorf("%s must not import %s", name, imported)
			}
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("checked %d packages", checked)
	}
}

// mayImport reports whether the package may import the other one, which is not of
// Go's own library.
func mayImport(name, imported string) bool {
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	if !isOurs {
		return slices.ContainsFunc(slices.Collect(maps.Keys(outside)), func(other string) bool {
			return below(imported, other) && in(name, outside[other])
		})
	}
	if walled, ok := walls[name]; ok {
		return in(ours, walled)
	}
	return room(name) == room(ours) || floorOf(ours) < floorOf(name)
}

// room returns the nearest package above, or the package itself, that has a floor. Without one, a package in
// internal/idbuilder is of the room idbuilder, and so is that of any other folder in internal.
func room(name string) string {
	for above := name; above != "."; above = path.Dir(above) {
		if slices.ContainsFunc(floors, func(floor string) bool { return slices.Contains(strings.Fields(floor), above) }) {
			return above
		}
	}
	if inside, ok := strings.CutPrefix(name, "internal/"); ok {
		return room(inside)
	}
	return ""
}

// floorOf returns the index of the package's floor, or -1.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor string) bool { return slices.Contains(strings.Fields(floor), room(name)) })
}

// in reports whether one of the packages is this one, or is above it.
func in(name, packages string) bool {
	return slices.ContainsFunc(strings.Fields(packages), func(p string) bool { return below(name, p) })
}

func below(name, pkg string) bool { return name == pkg || strings.HasPrefix(name, pkg+"/") }
