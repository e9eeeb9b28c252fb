// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"time"
)

// Report counts what was examined and found.
type Report struct {
	Directories, Stores, Records, Entries, Keys int64
	Damage, Warnings, Notices                   int64 // those that were not passed on for being too many, too
	NotExamined                                 int64 // ranges of keys that could not be examined: warnings, too
}

// Options say what [Examine] examines. The zero value examines everything, beside writers.
type Options struct {
	// Path limits the examination to a directory and those below it.
	Path []string
	// SkipRecords leaves out the comparison of records with their index entries.
	SkipRecords bool
	// Exclusive says that no program writes meanwhile, as to an embedded database that is
	// open for reading: counts and sums of any number of records are then compared.
	Exclusive bool
	// Now reads the clock. The default value is time.Now.
	Now func() time.Time
	// Progress, if it is not nil, is called after each batch with the report so far.
	Progress func(Report)
}

// mostOfCode is how many findings of one code in one directory are passed on, if each has a remedy of
// its own. The report counts all.
const mostOfCode = 100
