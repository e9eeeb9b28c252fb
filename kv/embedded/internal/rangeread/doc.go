// SPDX-License-Identifier: Apache-2.0

// Package rangeread holds what a transaction's range read and the scan that
// serves it share: the limits of a batch, the builder that collects its pairs,
// and the budget of steps.
//
// The read sets limits and budget. The scan counts each step against the budget
// and gives each pair to the builder, until one of the two tells it to stop.
//
// The values of this package are for one goroutine, except [SizeHint].
package rangeread
