// Package nearest finds the known name that someone may have meant by one that
// is not known.
package nearest

// Of returns the known name that is nearest to name, or "" where none is near.
func Of(name string, known []string) string {
	return By(name, known, func(s string) string { return s })
}

// By is [Of] for names of which only a part is compared: what part returns.
func By(name string, known []string, part func(string) string) string {
	name = part(name)
	// A short name is near to anything: a slip in three letters is none.
	best, least := "", len(name)/4+1
	for _, candidate := range known {
		distance := editDistance(name, part(candidate), least)
		if distance < least || best == "" && distance == least {
			best, least = candidate, distance
		}
	}
	return best
}

// editDistance counts the bytes to insert, remove or replace to turn a into b
// (Levenshtein). Above most it is only known to be above most: names may be
// long.
func editDistance(a, b string, most int) int {
	if difference := len(a) - len(b); difference > most || -difference > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
