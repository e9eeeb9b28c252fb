// SPDX-License-Identifier: Apache-2.0

// Package feeds has the command kazahana feed tail, which shows the changes of records in
// the order of commits.
package feeds
