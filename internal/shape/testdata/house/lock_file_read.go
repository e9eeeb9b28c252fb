// SPDX-License-Identifier: Apache-2.0

package house

func (l *lockFile) read() bool { return l.held }
