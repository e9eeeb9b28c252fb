// SPDX-License-Identifier: Apache-2.0

package arch

// arrows lists, for each package of the library, all that it may import of the
// module and of other modules. docs/architecture.md draws the same picture.
var arrows = map[string][]string{
	"kv": {},
	"kv/embedded": {
		"internal/newer",
		"kv", "kv/embedded/internal/gate", "kv/embedded/internal/base", "kv/embedded/internal/btree", "kv/embedded/internal/commit", "kv/embedded/internal/commitlog",
		"kv/embedded/internal/fault", "kv/embedded/internal/files", "kv/embedded/internal/histogram", "kv/embedded/internal/keys",
		"kv/embedded/internal/mutation", "kv/embedded/internal/mvcc", "kv/embedded/internal/rangeread", "kv/embedded/internal/rangeset",
		"kv/embedded/internal/readers", "kv/embedded/internal/ryw", "kv/embedded/internal/sample", "kv/embedded/internal/txn",
		"kv/embedded/internal/watch", "github.com/cockroachdb/pebble/v2",
	},
	"kv/embedded/internal/rangeread": {"kv"},
	"kv/embedded/internal/ryw": {
		"kv", "kv/embedded/internal/btree", "kv/embedded/internal/keys", "kv/embedded/internal/mutation", "kv/embedded/internal/rangeread",
		"kv/embedded/internal/rangeset", "kv/embedded/internal/readers", "kv/embedded/internal/txn", "kv/embedded/internal/watch", "kv/embedded/internal/ticket",
	},
	"kv/embedded/internal/ticket": {},
	"kv/embedded/internal/txn":    {"kv", "kv/embedded/internal/mutation", "kv/embedded/internal/watch"},
	"kv/embedded/internal/watch": {
		"kv", "kv/embedded/internal/btree", "kv/embedded/internal/mutation", "kv/embedded/internal/readers", "kv/embedded/internal/ticket",
	},
	"kv/embedded/internal/commit": {
		"kv", "kv/embedded/internal/base", "kv/embedded/internal/commitlog", "kv/embedded/internal/fault", "kv/embedded/internal/histogram",
		"kv/embedded/internal/keys", "kv/embedded/internal/mutation", "kv/embedded/internal/mvcc", "kv/embedded/internal/readers",
		"kv/embedded/internal/txn", "kv/embedded/internal/watch", "kv/embedded/internal/ticket",
	},
	"kv/embedded/internal/mvcc": {
		"kv", "kv/embedded/internal/base", "kv/embedded/internal/btree", "kv/embedded/internal/keys", "kv/embedded/internal/mutation",
		"kv/embedded/internal/rangeread", "kv/embedded/internal/rangeset", "kv/embedded/internal/sample", "kv/embedded/internal/ticket",
	},
	"kv/embedded/internal/base": {
		"kv", "kv/embedded/internal/fault", "kv/embedded/internal/files", "kv/embedded/internal/gate", "kv/embedded/internal/keys", "kv/embedded/internal/mutation",
		"kv/embedded/internal/sample", "github.com/cockroachdb/pebble/v2", "kv/embedded/internal/ticket",
	},
	"kv/embedded/internal/commitlog": {
		"kv/embedded/internal/fault", "kv/embedded/internal/files", "kv/embedded/internal/histogram", "kv/embedded/internal/keys",
		"kv/embedded/internal/mutation", "github.com/cockroachdb/pebble/v2",
	},
	"kv/embedded/internal/sample":    {"kv/embedded/internal/btree", "kv/embedded/internal/keys", "kv/embedded/internal/mutation"},
	"kv/embedded/internal/keys":      {"kv"},
	"kv/embedded/internal/mutation":  {"kv", "kv/embedded/internal/keys"},
	"kv/embedded/internal/btree":     {},
	"kv/embedded/internal/rangeset":  {"kv", "kv/embedded/internal/btree", "kv/embedded/internal/keys"},
	"kv/embedded/internal/readers":   {},
	"kv/embedded/internal/fault":     {"internal/newer", "kv"},
	"kv/embedded/internal/files":     {"github.com/cockroachdb/pebble/v2"},
	"kv/embedded/internal/histogram": {},
	"kv/embedded/internal/gate":      {},
	"kv/embedded/internal/tricky":    {"kv"},

	"kv/fdbkv":  {"kv", "github.com/apple/foundationdb/bindings/go"},
	"kv/kvtest": {"kv", "kv/kvtest/history", "kv/kvtest/internal/model", "kv/kvtest/internal/play", "kv/kvtest/internal/scenario", "internal/seed"},

	"kv/kvtest/faults":   {"kv", "kv/measure", "internal/seed"},
	"kv/measure":         {"kv"},
	"kv/kvtest/history":  {"kv", "kv/kvtest/internal/model"},
	"kv/kvtest/replay":   {"kv", "kv/kvtest/internal/play", "kv/kvtest/internal/scenario", "internal/goldens"},
	"kv/kvtest/difftest": {"kv", "kv/kvtest/internal/model", "kv/kvtest/internal/play", "kv/kvtest/internal/scenario"},

	"kv/kvtest/internal/model":    {"kv"},
	"kv/kvtest/internal/record":   {},
	"kv/kvtest/internal/naive":    {"kv", "kv/kvtest/internal/model"},
	"kv/kvtest/internal/scenario": {"kv", "internal/goldens"},
	"kv/kvtest/internal/play":     {"kv", "kv/kvtest/internal/model", "kv/kvtest/internal/scenario"},

	"tuple":               {},
	"directory":           {"kv", "tuple"},
	"idgen":               {"internal/redact", "internal/uptime", "internal/sleep", "github.com/oklog/ulid/v2"},
	"index":               {"internal/newer", "kv", "tuple", "index/internal/hash", "index/rank"},
	"index/rank":          {"kv", "tuple", "index/internal/hash"},
	"index/internal/hash": {},
	"leasefdb":            {"internal/newer", "kv", "directory", "tuple", "idgen", "lease"},
	"lease":               {"internal/newer", "idgen", "internal/redact", "internal/uptime"},

	"index/dynamic":             {"kv", "tuple", "index", "internal/schema", "persistable/wire", "google.golang.org/protobuf"},
	"index/dynamic/dynamictest": {"index", "index/dynamic", "internal/schema", "internal/seed"},

	"persistable": {
		"internal/newer",
		"kv", "kv/measure", "persistable/trace", "tuple", "directory", "idgen", "index", "leasefdb", "persistable/wire", "internal/goroutine", "internal/schema", "persistable/internal/erased",
		"index/dynamic", "persistable/internal/build", "index/rank", "persistable/internal/format", "persistable/internal/pagetoken", "persistable/internal/planner", "persistable/internal/scan",
		"persistable/internal/tenancy",
	},

	"persistable/trace":           {"kv", "kv/measure", "tuple"},
	"persistable/persistableotel": {"kv", "persistable", "persistable/trace", "go.opentelemetry.io/otel"},

	"idbuilder": {
		"idbuilder/api", "idbuilder/format", "idbuilder/idconfig", "idbuilder/revision", "idbuilder/sequence", "idbuilder/snowflake", "idbuilder/store", "idbuilder/token",
		"internal/newer", "internal/redact", "github.com/prometheus/client_golang", "go.opentelemetry.io/otel", "golang.org/x/time",
	},
	"idbuilder/api":             {"internal/redact"},
	"idbuilder/format":          {},
	"idbuilder/idconfig":        {"internal/newer", "idbuilder/format", "idbuilder/store", "internal/nearest"},
	"idbuilder/revision":        {"idbuilder/store"},
	"idbuilder/token":           {"internal/newer", "idbuilder/revision", "idbuilder/store", "internal/redact", "golang.org/x/time"},
	"idbuilder/settings":        {"internal/nearest", "github.com/BurntSushi/toml"},
	"idbuilder/store":           {"internal/newer"},
	"idbuilder/store/file":      {"idbuilder/store", "internal/sleep", "golang.org/x/sys"},
	"idbuilder/store/kvstore":   {"internal/newer", "idbuilder/store", "kv", "directory", "tuple"},
	"idbuilder/store/redis":     {"idbuilder/store", "internal/sleep", "github.com/redis/go-redis/v9"},
	"idbuilder/store/storetest": {"idbuilder/store", "idbuilder/store/kvstore", "internal/seed", "kv/embedded"},
	"idbuilder/store/sqlstore":  {"idbuilder/store", "internal/sleep"},
	"idbuilder/store/postgres":  {"idbuilder/store", "idbuilder/store/sqlstore", "github.com/jackc/pgx/v5"},
	"idbuilder/store/mysql":     {"idbuilder/store", "idbuilder/store/sqlstore", "github.com/go-sql-driver/mysql"},

	"idbuilder/sequence": {"idbuilder/store"},

	"idbuilder/client":            {"idbuilder/api", "internal/access", "internal/sleep", "internal/redact"},
	"idbuilder/client/clientotel": {"idbuilder/client", "go.opentelemetry.io/otel"},

	"idbuilder/snowflake": {"internal/newer", "idbuilder/store", "idgen", "lease", "internal/sleep", "internal/redact"},

	"idbuilder/console": {"idbuilder", "idbuilder/api", "idbuilder/format", "idbuilder/idconfig", "idbuilder/revision", "idbuilder/store", "idbuilder/token", "golang.org/x/time"},

	"idbuilder/controller": {"idbuilder/api", "idbuilder/snowflake", "idbuilder/store", "election", "internal/uptime", "kv", "lease", "internal/sleep", "internal/redact"},

	"rafttimer":                {"rafttimer/internal/clock", "rafttimer/internal/turn"},
	"rafttimer/mux":            {"rafttimer", "rafttimer/internal/clock", "rafttimer/internal/turn", "rafttimer/internal/wheel"},
	"rafttimer/internal/clock": {},
	"rafttimer/internal/turn":  {},
	"rafttimer/internal/wheel": {},

	"election":                    {"internal/newer", "kv", "directory", "tuple", "leasefdb", "internal/uptime", "election/internal/candidate", "internal/sleep"},
	"election/internal/candidate": {"kv", "leasefdb", "rafttimer"},
	"election/electionotel":       {"election", "go.opentelemetry.io/otel"},

	"placement":          {"placement/internal/recency"},
	"placement/driver":   {"placement"},
	"placement/identity": {"placement"},
	"placement/memory":   {"placement"},
	"placement/strategy": {"placement"},

	"placement/internal/recency": {},

	"placement/kvstore":    {"internal/newer", "placement", "kv", "directory", "tuple", "leasefdb"},
	"placement/membership": {"internal/newer", "placement", "kv", "directory", "tuple", "leasefdb", "internal/sleep"},

	"placement/host":                  {"placement", "placement/driver", "placement/kvstore", "placement/membership", "directory", "leasefdb", "kv", "internal/sleep"},
	"placement/host/internal/account": {"idgen", "index", "persistable", "persistable/persistimpl", "persistable/wire"},
	"placement/host/hosttest":         {"placement", "placement/host"},
	"placement/host/http2":            {"placement/host"},

	"placement/internal/sim": {"placement", "internal/schedule", "placement/driver", "placement/memory", "placement/strategy"},

	"placement/placementtest": {"internal/seed", "placement", "placement/driver", "github.com/google/go-cmp"},

	"lease/memory":    {"lease", "github.com/google/btree"},
	"lease/sqlite":    {"internal/newer", "lease", "internal/sleep", "modernc.org/sqlite"},
	"lease/redis":     {"lease", "internal/sleep", "github.com/redis/go-redis/v9"},
	"lease/http":      {"lease", "idgen", "internal/access", "internal/redact"},
	"lease/leasetest": {"lease", "idgen", "internal/seed"},

	"persistable/dynamic": {
		"kv", "directory", "idgen", "index", "index/dynamic", "internal/schema", "persistable", "persistable/wire", "tuple",
		"persistable/dynamic/internal/message", "persistable/dynamic/internal/where", "persistable/internal/erased", "persistable/internal/format", "internal/headers",
	},
	"persistable/dynamic/internal/kinds":   {"idgen", "index", "persistable", "persistable/persistimpl", "persistable/wire", "tuple"},
	"persistable/dynamic/internal/where":   {},
	"persistable/dynamic/internal/message": {"index", "internal/nearest", "internal/schema", "persistable/wire", "tuple", "github.com/oklog/ulid/v2", "google.golang.org/protobuf"},

	"persistable/internal/build":     {"internal/newer", "kv", "tuple", "index", "internal/sleep"},
	"persistable/internal/erased":    {"index", "tuple", "internal/schema", "persistable/wire"},
	"persistable/internal/format":    {"internal/newer", "kv", "tuple", "index", "internal/schema"},
	"persistable/internal/pagetoken": {"internal/newer"},
	"persistable/internal/planner":   {"index", "tuple", "persistable/internal/erased"},
	"persistable/internal/scan":      {"kv", "tuple", "index", "persistable/internal/format"},
	"persistable/internal/tenancy":   {"internal/newer", "kv", "tuple", "directory", "persistable/internal/format"},
	"persistable/tenants":            {"internal/newer", "kv", "tuple", "directory", "index", "persistable", "persistable/internal/format", "internal/headers", "persistable/internal/tenancy"},
	"persistable/stored":             {"kv", "index", "persistable/internal/build", "persistable/internal/format", "persistable/internal/tenancy"},
	"persistable/persistimpl":        {"idgen", "index", "persistable", "persistable/internal/erased", "github.com/oklog/ulid/v2"},

	"persistable/wire": {
		"google.golang.org/protobuf",
	},

	"idgen/external":       {"idgen", "internal/redact"},
	"idgen/idgenotel":      {"idgen", "go.opentelemetry.io/otel"},
	"lease/leaseotel":      {"idgen", "lease", "go.opentelemetry.io/otel"},
	"internal/cli/doctors": {"internal/cli/database", "internal/doctor", "internal/shell", "directory", "kv", "kv/embedded", "github.com/spf13/cobra"},
	"internal/cli": {
		"internal/cli/database", "internal/cli/databases", "internal/cli/dirs", "internal/cli/doctors", "internal/cli/explain", "internal/cli/feeds", "internal/cli/ids",
		"internal/cli/indexes", "internal/cli/leases", "internal/cli/pages", "internal/cli/pairs", "internal/cli/placements", "internal/cli/prompt", "internal/cli/records",
		"internal/cli/schemas", "internal/cli/stats", "internal/cli/tenants", "internal/cli/types", "internal/shell", "github.com/spf13/cobra",
	},
	"internal/cli/database":  {"internal/move", "internal/shell", "internal/nearest", "kv", "kv/embedded", "kv/fdbkv", "directory", "persistable", "github.com/spf13/cobra"},
	"internal/cli/databases": {"internal/cli/database", "internal/cli/keytext", "internal/move", "internal/shell", "kv/embedded", "github.com/cockroachdb/pebble/v2", "github.com/spf13/cobra"},
	"internal/cli/explain":   {"internal/cli/leasehome", "internal/shell", "idgen", "kv/embedded", "lease", "lease/http"},
	"internal/cli/feeds":     {"internal/cli/database", "internal/cli/storearg", "internal/shell", "kv", "persistable", "persistable/dynamic", "github.com/spf13/cobra"},
	"internal/cli/indexes": {
		"internal/cli/database", "internal/cli/storearg", "internal/cli/keytext", "internal/shell", "index", "kv", "persistable", "persistable/dynamic", "tuple", "github.com/spf13/cobra",
	},
	"internal/cli/keytext":    {"tuple"},
	"internal/cli/dirs":       {"internal/cli/database", "internal/cli/survey", "internal/headers", "internal/shell", "directory", "kv", "persistable", "persistable/tenants", "github.com/spf13/cobra"},
	"internal/cli/pairs":      {"internal/cli/database", "internal/cli/keytext", "internal/cli/survey", "internal/headers", "internal/shell", "directory", "kv", "persistable", "persistable/tenants", "github.com/spf13/cobra"},
	"internal/cli/prompt":     {"internal/cli/database", "internal/cli/explain", "internal/shell", "directory", "persistable", "github.com/spf13/cobra", "golang.org/x/term"},
	"internal/cli/stats":      {"internal/cli/database", "internal/cli/survey", "internal/shell", "directory", "kv", "kv/embedded", "lease", "leasefdb", "persistable", "github.com/spf13/cobra"},
	"internal/cli/clitest":    {"internal/enginetest", "directory", "kv", "persistable"},
	"internal/cli/survey":     {"internal/cli/database", "internal/headers", "internal/shell", "directory", "kv", "persistable"},
	"internal/cli/tenants":    {"internal/cli/database", "internal/cli/survey", "internal/shell", "directory", "kv", "persistable", "persistable/tenants", "github.com/spf13/cobra"},
	"internal/cli/pages":      {"internal/cli/database", "internal/shell", "internal/ui", "internal/access", "persistable", "github.com/spf13/cobra"},
	"internal/cli/ids":        {"internal/cli/layoutflag", "internal/cli/leasehome", "internal/shell", "idgen", "idgen/external", "github.com/spf13/cobra"},
	"internal/cli/storearg":   {"directory", "internal/cli/database", "internal/shell", "persistable", "persistable/dynamic", "github.com/spf13/cobra"},
	"internal/cli/types":      {"internal/cli/database", "internal/cli/storearg", "internal/shell", "persistable", "persistable/dynamic", "github.com/spf13/cobra"},
	"internal/cli/records":    {"internal/cli/database", "internal/cli/storearg", "internal/shell", "persistable", "persistable/dynamic", "github.com/spf13/cobra"},
	"internal/cli/schemas":    {"internal/cli/database", "internal/cli/storearg", "internal/schema", "internal/shell", "persistable", "persistable/dynamic", "github.com/spf13/cobra"},
	"internal/cli/layoutflag": {"internal/shell", "idgen", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	"internal/cli/leasehome": {
		"internal/cli/layoutflag", "internal/shell", "internal/nearest", "idgen", "lease", "lease/http", "lease/memory", "lease/redis", "lease/sqlite", "leasefdb",
		"kv", "kv/embedded", "kv/fdbkv", "github.com/spf13/cobra", "github.com/redis/go-redis/v9",
	},
	"internal/cli/leases": {
		"internal/access", "internal/cli/explain", "internal/cli/leasehome", "internal/shell", "idgen", "lease", "lease/http", "lease/leaseotel",
		"github.com/spf13/cobra", "go.opentelemetry.io/otel", "github.com/prometheus/client_golang",
	},
	"internal/cli/placements": {"internal/cli/database", "internal/shell", "kv", "placement", "placement/kvstore", "placement/membership", "github.com/spf13/cobra"},
	"internal/ui": {
		"internal/access", "internal/ui/job", "directory", "idgen", "idgen/external", "index", "kv", "kv/embedded", "lease", "leasefdb",
		"persistable", "persistable/dynamic", "persistable/tenants", "github.com/oklog/ulid/v2",
	},
	"internal/access": {},
	"internal/ui/job": {},
	"cmd/kazahana":    {"internal/cli"},

	"internal/idbuilderd": {
		"internal/idbuilderd/admin", "internal/idbuilderd/program", "internal/idbuilderd/server", "internal/shell",
		"idbuilder/api", "idbuilder/settings", "idbuilder/store", "github.com/spf13/cobra",
	},
	"internal/idbuilderd/program": {
		"idbuilder", "idbuilder/revision", "idbuilder/sequence", "idbuilder/settings", "idbuilder/snowflake", "idbuilder/token",
		"idbuilder/store", "idbuilder/store/file", "idbuilder/store/kvstore", "idbuilder/store/mysql", "idbuilder/store/postgres", "idbuilder/store/redis",
		"internal/deployed", "internal/nearest", "internal/shell", "kv", "kv/embedded", "kv/fdbkv",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/redis/go-redis/v9",
	},
	"internal/idbuilderd/otlp": {"idbuilder/settings", "go.opentelemetry.io/otel", "go.opentelemetry.io/proto/slim/otlp", "google.golang.org/protobuf"},
	"internal/idbuilderd/server": {
		"internal/access", "internal/idbuilderd/otlp", "internal/idbuilderd/program", "internal/shell", "idbuilder", "idbuilder/api", "idbuilder/console", "idbuilder/controller",
		"idbuilder/revision", "idbuilder/settings", "idbuilder/token", "github.com/spf13/cobra", "github.com/prometheus/client_golang",
	},
	"internal/idbuilderd/admin": {
		"internal/idbuilderd/program", "internal/access", "internal/deployed", "internal/shell", "idbuilder", "idbuilder/api", "idbuilder/controller",
		"idbuilder/sequence", "idbuilder/settings", "idbuilder/store", "idbuilder/token", "github.com/spf13/cobra",
	},
	"cmd/idbuilder": {"internal/idbuilderd", "internal/shell"},

	"codegen": {
		"codegen/internal/collector", "codegen/internal/cost", "codegen/internal/diagnostic", "codegen/internal/diff", "codegen/internal/emitter",
		"codegen/internal/graph", "codegen/internal/idfield", "codegen/internal/lock", "codegen/internal/model", "codegen/internal/output", "codegen/internal/source", "codegen/internal/tags", "codegen/internal/watch",
		"internal/schema",
	},
	"codegen/internal/collector":  {"codegen/internal/diagnostic", "codegen/internal/model", "codegen/internal/source", "codegen/internal/tags", "internal/schema"},
	"codegen/internal/cost":       {"codegen/internal/model"},
	"codegen/internal/diagnostic": {},
	"codegen/internal/diff":       {},
	"codegen/internal/emitter":    {"codegen/internal/model", "codegen/internal/output", "codegen/internal/tags", "internal/schema"},
	"codegen/internal/graph":      {"codegen/internal/model"},
	"codegen/internal/idfield":    {"codegen/internal/model"},
	"codegen/internal/lock":       {"codegen/internal/diagnostic", "codegen/internal/model", "codegen/internal/tags", "internal/schema"},
	"codegen/internal/model":      {"codegen/internal/tags"},
	"codegen/internal/output":     {},
	"codegen/internal/source":     {"codegen/internal/diagnostic", "codegen/internal/model", "codegen/internal/output", "golang.org/x/tools"},
	"codegen/internal/watch":      {"github.com/fsnotify/fsnotify"},
	"codegen/internal/tags":       {"internal/schema", "internal/nearest"},

	"cmd/persistgen": {"codegen"},
	"cmd/persistvet": {"persistvet", "golang.org/x/tools"},
	"persistvet":     {"persistvet/ignores", "golang.org/x/tools"},
	"persistvet/ignores": {
		"persistvet/freshvalue", "persistvet/losterror", "persistvet/outsidetx", "persistvet/retryeffect", "persistvet/txescape", "persistvet/unindexed",
		"persistvet/internal/ignore", "golang.org/x/tools",
	},
	"persistvet/freshvalue":      {"persistvet/internal/api", "persistvet/internal/expr", "persistvet/internal/ignore", "persistvet/internal/txfunc", "golang.org/x/tools"},
	"persistvet/losterror":       {"persistvet/internal/api", "persistvet/internal/expr", "persistvet/internal/ignore", "persistvet/internal/txfunc", "golang.org/x/tools"},
	"persistvet/outsidetx":       {"persistvet/internal/api", "persistvet/internal/expr", "persistvet/internal/ignore", "persistvet/internal/txfunc", "golang.org/x/tools"},
	"persistvet/retryeffect":     {"persistvet/internal/api", "persistvet/internal/expr", "persistvet/internal/ignore", "persistvet/internal/txfunc", "golang.org/x/tools"},
	"persistvet/txescape":        {"persistvet/internal/api", "persistvet/internal/expr", "persistvet/internal/ignore", "persistvet/internal/txfunc", "golang.org/x/tools"},
	"persistvet/unindexed":       {"persistvet/internal/api", "persistvet/internal/ignore", "golang.org/x/tools"},
	"persistvet/internal/api":    {"golang.org/x/tools"},
	"persistvet/internal/expr":   {},
	"persistvet/internal/ignore": {"golang.org/x/tools"},
	"persistvet/internal/txfunc": {"persistvet/internal/api", "persistvet/internal/expr", "golang.org/x/tools"},
	"internal/enginetest":        {"kv", "kv/embedded", "kv/fdbkv", "go.uber.org/goleak"},
	"internal/goldens":           {},
	"internal/goldens/formats":   {"internal/goldens", "github.com/google/go-cmp"},
	"internal/headers":           {"kv", "tuple"},
	"internal/uptime":            {"golang.org/x/sys"},
	"internal/bazaar":            {"idgen", "index", "internal/bazaar/older", "kv", "persistable", "persistable/persistimpl", "persistable/wire", "tuple", "github.com/oklog/ulid/v2"},
	"internal/bazaar/older":      {"index", "persistable", "persistable/persistimpl", "persistable/wire"},
	"internal/contents":          {"kv", "tuple", "directory", "internal/goldens/formats"},

	"internal/stacktester": {"kv", "tuple", "directory"},
	"cmd/stacktester":      {"internal/stacktester", "kv/fdbkv"},

	"internal/schema":          {"internal/newer"},
	"internal/shell":           {"internal/nearest", "github.com/spf13/cobra", "github.com/vbauerster/mpb/v8", "golang.org/x/term"},
	"internal/goroutine":       {},
	"internal/nearest":         {},
	"internal/newer":           {"tuple"},
	"internal/redact":          {},
	"internal/schedule":        {},
	"internal/seed":            {},
	"internal/shape":           {},
	"internal/snippets":        {},
	"internal/sleep":           {},
	"internal/shell/shelltest": {},

	"internal/shape/cmd/counts": {"internal/shape"},

	"internal/move": {"directory", "kv", "lease", "leasefdb", "placement/membership", "tuple"},
	"internal/doctor": {
		"directory", "election", "idbuilder/store/kvstore", "index", "index/dynamic", "index/rank", "internal/newer", "kv", "lease", "leasefdb", "persistable/dynamic", "persistable/stored",
		"placement", "placement/kvstore", "placement/membership", "tuple",
	},

	"internal/deployed": {"idbuilder/format", "idbuilder/idconfig", "idbuilder/store"},
	"internal/testcert": {},

	"internal/browsertest": {"internal/sleep", "github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},

	"idbuilder/store/sqlstore/sqltest": {"idbuilder/store", "idbuilder/store/storetest", "internal/servers"},

	"internal/idchaos": {},
	"internal/remote":  {"kv"},
	"internal/servers": {"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql"},

	"site":          {"internal/browsertest", "github.com/chromedp/chromedp"}, // its test
	"internal/arch": {"internal/shape"},
}
