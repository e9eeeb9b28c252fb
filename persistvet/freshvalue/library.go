// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"slices"
	"strings"
)

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
