// SPDX-License-Identifier: Apache-2.0

// Package rolling has the tests of a rolling upgrade of this library: processes of
// two versions use one database, one folder after the other, one store of the ID
// service, one home of leases, and call each other's virtual actors.
//
//	make rolling                            # the version before the last change of Go code, for ten minutes
//	make rolling PREVIOUS=v1.2.0 MINUTES=60
//
// .ci/rolling builds the programs and the tests of both versions. The tests are
// today's in both, so they may only use what both versions have: a test of
// something new comes with the change after it. The records' types are those of the
// previous version, with the code that each version's persistgen makes of them.
//
// Other tests that start their own program again take part by asking [Next] for it,
// and are named in .ci/rolling. Without programs of two versions all processes are
// of this one, so that `make test` shows that the tests themselves work.
package rolling

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// Variable is the environment variable that names the folder with the programs of
// both versions, in a folder for each.
const Variable = "KAZAHANA_ROLLING"

// Version is one of the two versions.
type Version string

// The versions. The value is the name of the folder.
const (
	Previous Version = "previous"
	Today    Version = "today"
)

// On reports whether there are programs of two versions.
func On() bool { return os.Getenv(Variable) != "" }

// Program returns the file of a version's program, such as kazahana. It must not be
// called if not [On].
func (v Version) Program(name string) string {
	return filepath.Join(os.Getenv(Variable), string(v), name)
}

// Next returns the file of the running program, as the version to start next has it.
// Of the first two calls, one returns the previous version and one today's, and so for
// each two calls after them; which comes first is random, by the seed of the tests.
// It is safe for concurrent use.
func Next() (program string, v Version, err error) {
	v, err = turns.next()
	if err != nil {
		return "", "", err
	}
	self, err := os.Executable()
	if err != nil || !On() {
		return self, v, err
	}
	return v.Program(filepath.Base(self)), v, nil
}

// Any returns the program of [Next] alone.
func Any() (string, error) {
	program, _, err := Next()
	return program, err
}

var turns order

// order is the order in which versions are started.
type order struct {
	mu     sync.Mutex
	random *rand.Rand
	second Version // of a pair, after its first was returned; empty at the beginning of a pair
}

func (o *order) next() (Version, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.second; v != "" {
		o.second = ""
		return v, nil
	}
	if err := o.begin(); err != nil {
		return "", err
	}
	if o.random.IntN(2) == 0 {
		o.second = Today
		return Previous, nil
	}
	o.second = Previous
	return Today, nil
}

// begin makes the random numbers, from the seed of all tests if there is one.
func (o *order) begin() error {
	if o.random != nil {
		return nil
	}
	first := rand.Uint64()
	if text := os.Getenv(seed.Variable); text != "" {
		var err error
		if first, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("rolling: the environment variable %s: %w", seed.Variable, err)
		}
	}
	o.random = rand.New(rand.NewPCG(first, 1))
	return nil
}
