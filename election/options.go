// SPDX-License-Identifier: Apache-2.0

package election

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Options configure an [Election]. The zero value is ready to use.
type Options struct {
	// Candidate names the candidate, for people and tools. The default value names
	// the host and the process.
	Candidate string

	// Duration is how long a leader leads without renewing its lease, from 10 ms to a
	// year; it renews three times as often. Shorter means sooner after a crash, and
	// more transactions: one a renewal of the leader and each standby. It should
	// be many times a transaction's latency and a pause of the process. Candidates
	// may differ. The default value is leasefdb.DefaultDuration, 15 s.
	Duration time.Duration

	// ElectionTimeout is how much longer than the lease a vacancy lasts at most:
	// standbys spread their claims over the first half of it, those that give way to a
	// higher priority over the second. It should be many times a transaction's latency. The
	// default value is a fifth of Duration.
	ElectionTimeout time.Duration

	// Priority orders candidates at a vacancy: the higher one goes first. See the package's
	// documentation for what it means. The default value is 0.
	Priority int32

	// Once lets Run return after the candidate's first term. The default value lets it
	// campaign again.
	Once bool

	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the elections. All candidates and observers use the
	// same. The default value is kazahana/elections.
	Path []string

	// Source is what election timeouts are drawn from; the Election alone may use it.
	// The default value is seeded at random.
	Source rand.Source

	// Observer is told of the Election's metrics, as package electionotel does.
	Observer Observer
}

const (
	minDuration = 10 * time.Millisecond
	maxDuration = 365 * 24 * time.Hour
	maxText     = 1024
)

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	o = o.withDefaults()
	faults := []error{checkText("Candidate", o.Candidate)}
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf("election: "+format, args...)) }
	if o.Duration < minDuration || o.Duration > maxDuration {
		add("Duration is %v, must be from %v to %v", o.Duration, minDuration, maxDuration)
	}
	if o.ElectionTimeout < minDuration/10 || o.ElectionTimeout > maxDuration {
		add("ElectionTimeout is %v, must be from %v to %v", o.ElectionTimeout, minDuration/10, maxDuration)
	}
	if o.Priority == math.MinInt32 {
		add("Priority is %d, must be greater", o.Priority)
	}
	if len(o.Path) == 0 {
		add("Path is empty: the elections need a directory of their own")
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Candidate == "" {
		o.Candidate = defaultCandidate()
	}
	if o.Duration == 0 {
		o.Duration = leasefdb.DefaultDuration
	}
	if o.ElectionTimeout == 0 {
		o.ElectionTimeout = o.Duration / 5
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "elections"}
	}
	if o.Source == nil {
		o.Source = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	return o
}

func defaultCandidate() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func checkText(what, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("election: %s is empty", what)
	case len(text) > maxText:
		return fmt.Errorf("election: %s has %d bytes, at most %d are possible", what, len(text), maxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("election: %s is not valid UTF-8", what)
	}
	return nil
}
