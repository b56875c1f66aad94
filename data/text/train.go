package text

import (
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"strings"
)

// MaxTokens is the most tokens that a BPE may have.
const MaxTokens = 1 << 18

// TrainBPE learns tokens from a text: again and again the pair that is there most often becomes one, until there are size tokens or no pair is there
// twice. Of pairs that are there equally often it is the one of the lowest numbers. The memory it needs grows with the number of different words,
// not with the text.
func TrainBPE(r io.Reader, size int) (*BPE, error) {
	if size < 256 || size > MaxTokens {
		return nil, fmt.Errorf("text: %d tokens: from 256 to %d are possible", size, MaxTokens)
	}
	counts := map[string]int{}
	in := chunks{from: r}
	for {
		piece, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
		for len(piece) > 0 {
			w := piece[:word(piece)]
			piece = piece[len(w):]
			if _, known := counts[w]; !known {
				w = strings.Clone(w) // not the whole piece
			}
			counts[w]++
		}
	}
	t := newTrainer(counts)
	b := newBPE(size)
	for b.Size() < size {
		p, ok := t.best()
		if !ok {
			break
		}
		t.join(p, b.add(p))
	}
	return b, nil
}

// trainer knows how often each pair is there, while pairs become tokens.
type trainer struct {
	words []trained
	pairs map[pair]int   // how often each is there
	where map[pair][]int // the words that have, or had, the pair
	queue queue
}

// trained is a word of the text.
type trained struct {
	tokens []int32
	count  int
}

func newTrainer(counts map[string]int) *trainer {
	t := &trainer{pairs: map[pair]int{}, where: map[pair][]int{}}
	for w, n := range counts {
		i := len(t.words)
		t.words = append(t.words, trained{Bytes{}.Encode(w), n})
		t.count(i, n, func(p pair) bool { return true })
	}
	for p, n := range t.pairs {
		t.queue = append(t.queue, waiting{p, n})
	}
	heap.Init(&t.queue)
	return t
}

// count adds n to the pairs of word i, and lists the word for those that are fresh.
func (t *trainer) count(i, n int, fresh func(pair) bool) {
	tokens := t.words[i].tokens
	for k := 1; k < len(tokens); k++ {
		p := pair{tokens[k-1], tokens[k]}
		t.pairs[p] += n
		if list := t.where[p]; fresh(p) && (len(list) == 0 || list[len(list)-1] != i) {
			t.where[p] = append(list, i)
		}
	}
}

// best is the pair that is there most often. A pair becomes rarer while it waits, never more frequent: one that has become rarer goes back to
// its place.
func (t *trainer) best() (pair, bool) {
	for len(t.queue) > 0 {
		top := &t.queue[0]
		switch n := t.pairs[top.pair]; {
		case n < 2:
			heap.Pop(&t.queue)
		case n < top.count:
			top.count = n
			heap.Fix(&t.queue, 0)
		default:
			return top.pair, true
		}
	}
	return pair{}, false
}

// join makes p the token in all words.
func (t *trainer) join(p pair, token int32) {
	fresh := map[pair]bool{}
	for _, i := range t.where[p] {
		w := &t.words[i]
		t.count(i, -w.count, func(pair) bool { return false })
		w.tokens = join(w.tokens, p, token)
		t.count(i, w.count, func(q pair) bool {
			if q.left != token && q.right != token {
				return false
			}
			fresh[q] = true
			return true
		})
	}
	delete(t.where, p)
	for q := range fresh {
		heap.Push(&t.queue, waiting{q, t.pairs[q]})
	}
}

// queue is a heap of pairs, the most frequent first. Since no two are equal, it does not matter in which order they came.
type queue []waiting

// waiting is a pair, and how often it was there when it was put in its place.
type waiting struct {
	pair
	count int
}

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right)) < 0
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(x any) { *q = append(*q, x.(waiting)) }

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
