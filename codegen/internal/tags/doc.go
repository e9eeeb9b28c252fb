// SPDX-License-Identifier: Apache-2.0

// Package tags parses persist struct tags: the options of fields, of markers and of
// indexes, and the path of a directory. It knows the offset of each word in the
// source of the tag, so that a fault points into the tag.
//
// It returns all faults of a tag at once, as values of type [Fault]. It does not
// know Go types, so it does not check names of fields.
package tags
