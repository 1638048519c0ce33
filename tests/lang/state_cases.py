"""Kernels that change objects of Python: what a module holds, ``---``, and the body of the function ``f(x, y, n)``.

``=== name | words of the finding``; the statement that is refused is marked ``# here``. COUNTER: the class below.
"""

COUNTER = """
class Counter:
    total = 0

    def __init__(self):
        self.c = 0

    def tick(self, by=1):
        self.c += by  # here
        return self.c
"""

REFUSED_TEXT = """
=== an attribute | the loop changes 's.c'
COUNTER
---
s = Counter()
for i in range(n):
    s.c = s.c + 1  # here
y[0] = s.c
=== a method | the loop changes 's.c'
COUNTER
---
s = Counter()
for i in range(n):
    s.tick()
y[0] = s.c
=== a method of an object of the module | the branch changes 'S.c'
COUNTER
S = Counter()
---
if n > 2:
    S.tick()
y[0] = S.c
=== another method of the same object | the loop changes 'S.f'
from types import SimpleNamespace
COUNTER
C = Counter()
S = SimpleNamespace(f=C.tick)
---
for i in range(n):
    S.f = C.__init__  # here
y[0] = 1 if S.f == C.tick else 2
=== a class whose class is not type | the loop changes 'C.total'
class Meta(type):
    pass
class C(metaclass=Meta):
    total = 0
---
for i in range(n):
    C.total += 1  # here
y[0] = C.total
=== a dataclass | the loop changes 'p.at'
import dataclasses
@dataclasses.dataclass
class P:
    at: int = 0
---
p = P()
for i in range(n):
    p.at += 2  # here
y[0] = p.at
=== a namespace | the loop changes 'S.c'
from types import SimpleNamespace
S = SimpleNamespace(c=0)
---
for i in range(n):
    S.c += 1  # here
y[0] = S.c
=== slots | the branch changes 'p.at'
class P:
    __slots__ = ('at',)
---
p = P()
p.at = 1
if x[0] > n:
    p.at = 2  # here
y[0] = p.at
=== a class | the loop changes 'Counter.total'
COUNTER
---
for i in range(n):
    Counter.total += 1  # here
y[0] = Counter.total
=== the class of an object | total
COUNTER
---
s = Counter()
for i in range(n):
    type(s).total += 1  # here
y[0] = s.total
=== a function | the loop changes 'g.calls'
def g():
    return 1
g.calls = 0
---
for i in range(n):
    g.calls += 1  # here
y[0] = g.calls
=== a list of the module | 'SEEN'
SEEN = []
---
for i in range(n):
    SEEN.append(1)  # here
y[0] = len(SEEN)
=== a dictionary of the module | 'D'
D = {}
---
if n > 1:
    D['a'] = 1  # here
y[0] = len(D)
=== a list in a dictionary | what "D['a']" holds
D = {'a': [1]}
---
for i in range(n):
    D['a'].append(2)  # here
y[0] = len(D['a'])
=== a list in an object in a tuple | items[0]' holds
COUNTER
---
s = Counter()
s.items = [[1]]
all = (s, 1)
for i in range(n):
    all[0].items[0].append(2)  # here
y[0] = len(s.items[0])
=== a set | what 's' holds
---
s = {1}
for i in range(n):
    s.add(2)  # here
y[0] = len(s)
=== a deque | what 'd' holds
from collections import deque
---
d = deque([1, 2, 3])
for i in range(n):
    d.rotate(1)  # here
y[0] = d[0]
=== a counter | what 'd' holds
from collections import Counter
---
d = Counter()
for i in range(n):
    d['a'] += 1  # here
y[0] = d['a']
=== an order | what 'd' holds
from collections import OrderedDict
---
d = OrderedDict(a=1, b=2)
for i in range(n):
    d.move_to_end('a')  # here
y[0] = list(d.values())[0]
=== a default dictionary | what 'd' holds
from collections import defaultdict
---
d = defaultdict(list)
for i in range(n):
    k = len(d['a'])  # here
y[0] = len(d)
=== an array.array | what 'a' holds
from array import array
---
a = array('i', [0])
for i in range(n):
    a[0] += 1  # here
y[0] = a[0]
=== a bytearray | what 'a' holds
---
a = bytearray(2)
for i in range(n):
    a[0] += 1  # here
y[0] = a[0]
=== an array of NumPy | what 'A' holds
import numpy as np
A = np.zeros(3, np.int64)
---
for i in range(n):
    A[1] += 2  # here
y[0] = int(A[1])
=== a view of an array | what 'B' holds
import numpy as np
A = np.zeros((3, 3), np.int64)
B = A[:, 1]
---
for i in range(n):
    B[1] += 2  # here
y[0] = int(A[1, 1])
=== a number of ctypes | what 'c' holds
import ctypes
---
c = ctypes.c_int(0)
for i in range(n):
    c.value += 1  # here
y[0] = c.value
=== a default list | g.__defaults__[0]
def g(p=[]):
    p.append(1)  # here
    return len(p)
---
for i in range(n):
    y[0] = g()
=== a default list by keyword | g.__kwdefaults__['p']
def g(*, p=[]):
    p.append(1)  # here
    return len(p)
---
if n > 1:
    y[0] = g()
y[1] = g()
=== an iterator | the loop takes items from 'it'
---
it = iter([5, 6, 7, 8])
for i in range(n):
    y[0] = next(it)  # here
=== an iterator in a branch | the branch takes items from 'it'
---
it = iter([5, 6, 7, 8])
if n > 1:
    y[0] = next(it)  # here
y[1] = next(it)
=== an iterator of a dictionary | takes items from 'it'
---
it = iter({5: 1, 6: 2})
if n > 1:
    y[0] = next(it)  # here
y[1] = next(it)
=== an iterator in zip | takes items from
---
it = iter([5, 6, 7, 8])
z = zip(it, [1, 2])
if n > 1:
    y[0] = next(z)[0]  # here
y[1] = next(it)
=== a counting iterator | takes items from 'IDS'
import itertools
IDS = itertools.count()
---
for i in range(n):
    y[0] = next(IDS)  # here
=== a cycle | the loop changes what 'c' holds
import itertools
---
c = itertools.cycle([3, 4])
for i in range(n):
    y[0] = next(c)  # here
=== a generator | takes items from 'G'
def numbers():
    k = 3
    while True:
        yield k
        k += 1
G = numbers()
---
for i in range(n):
    y[0] = next(G)  # here
=== a generator expression | takes items from 'g'
---
g = (k * 2 for k in [1, 2, 3, 4])
if n > 1:
    y[0] = next(g)  # here
y[1] = next(g)
=== an iterator of one's own | 'g.k'
class It:
    k = 3
    def __iter__(self):
        return self
    def __next__(self):
        self.k += 1
        return self.k
---
g = It()
for i in range(n):
    y[0] = next(g)  # here
=== a loop over an iterator in a loop | takes items from 'it'
---
it = iter([5, 6, 7, 8])
for i in range(n):
    for v in it:  # here
        y[0] += v
=== a generator with a variable of its module | the loop
COUNT = 0
def numbers():
    global COUNT
    while True:
        COUNT += 1
        yield COUNT
G = numbers()
---
for i in range(n):
    y[0] = next(G)  # here
=== entering a context | the loop changes 's.level'
class S:
    level = 0
    def __enter__(self):
        self.level += 1
    def __exit__(self, *error):
        pass
---
s = S()
for i in range(n):
    with s:  # here
        y[0] = 1
y[1] = s.level
=== leaving a context | the branch changes 's.left'
class S:
    left = 0
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.left += 1
---
s = S()
if n > 2:
    with s:  # here
        y[0] = 1
y[1] = s.left
=== a context of contextlib | the loop changes what 'LOG' holds
import contextlib
LOG = []
@contextlib.contextmanager
def logged():
    LOG.append(1)
    yield
---
for i in range(n):
    with logged():  # here
        y[0] = 1
y[1] = len(LOG)
=== a property | the loop changes 's.c'
class S:
    c = 0
    @property
    def next(self):
        self.c += 1
        return self.c
---
s = S()
for i in range(n):
    y[0] = s.next  # here
=== an operator | s.c'
class S:
    c = 0
    def __add__(self, other):
        S.c += 1
        return self
---
s = S()
for i in range(n):
    t = s + 1  # here
y[0] = S.c
=== an item | what 's.d' holds
class S:
    def __init__(self):
        self.d = {}
    def __setitem__(self, k, v):
        self.d[k] = v
---
s = S()
for i in range(n):
    s[1] = 2  # here
y[0] = len(s.d)
=== a closure | the loop changes 'c'
def make():
    c = 0
    class K:
        def __call__(self):
            nonlocal c
            c += 1
            return c
    return K()
K = make()
---
for i in range(n):
    y[0] = K()  # here
=== a lambda | 'SEEN'
SEEN = []
g = lambda v: SEEN.append(v)
---
for i in range(n):
    g(1)  # here
y[0] = len(SEEN)
=== a partial | what 'h.args[0]' holds
import functools
def g(p, k):
    p.append(k)  # here
SEEN = []
h = functools.partial(g, SEEN)
---
for i in range(n):
    h(1)
y[0] = len(SEEN)
=== a bound method of a list | holds
SEEN = []
add = SEEN.append
---
for i in range(n):
    add(1)  # here
y[0] = len(SEEN)
=== a comprehension | what 'SEEN' holds
SEEN = []
---
for i in range(n):
    [SEEN.append(k) for k in (1, 2)]  # here
y[0] = len(SEEN)
=== random numbers | what 'R' holds
import random
R = random.Random(1)
---
for i in range(n):
    y[0] = R.randrange(100)  # here
=== random numbers of a module | holds
import random
---
for i in range(n):
    y[0] = random.randrange(99)  # here
=== random numbers of NumPy | holds
import numpy as np
R = np.random.default_rng(1)
---
for i in range(n):
    y[0] = int(R.integers(100))  # here
=== a file in memory | 'F'
import io
F = io.StringIO()
---
for i in range(n):
    F.write('a')  # here
y[0] = len(F.getvalue())
=== a context variable | what 'V' holds
import contextvars
V = contextvars.ContextVar('v', default=1)
---
for i in range(n):
    V.set(V.get() + 1)  # here
y[0] = V.get()
=== an attribute of a thread | the loop changes 'L.c'
import threading
L = threading.local()
L.c = 1
---
for i in range(n):
    L.c += 1  # here
y[0] = L.c
=== a tile in an object | the loop changes 's.
COUNTER
---
s = Counter()
s.t, s.u = (pto.Tile(pto.TileType.Vec, pto.f32, 1, 8) for _ in range(2))
for i in range(n):
    s.t, s.u = s.u, s.t  # here
pto.TEXPANDS(s.t, 1.0)
=== tiles in a list | what 'b' holds
---
b = [pto.Tile(pto.TileType.Vec, pto.f32, 1, 8) for _ in range(2)]
for i in range(n):
    b[0], b[1] = b[1], b[0]  # here
pto.TEXPANDS(b[0], 1.0)
=== the way that is not taken | the branch changes 's.c'
COUNTER
---
s = Counter()
if n > 100:
    y[0] = 1
else:
    s.c = 5  # here
y[1] = s.c
=== an expression that may not be evaluated | the branch changes 's.c'
COUNTER
---
s = Counter()
y[0] = s.tick() if n > 100 else 7
y[1] = s.c
=== an operand that may not be evaluated | the branch changes 's.c'
COUNTER
---
s = Counter()
if n > 100 and s.tick() > 0:
    y[0] = 1
y[1] = s.c
=== a list in an expression that may not be evaluated | the branch changes what 's' holds
---
s = [1]
y[0] = s.pop() if n > 100 else 7  # here
y[1] = len(s)
=== what follows an early exit | the branch changes 's.c'
COUNTER
---
s = Counter()
for i in pto.static_range(4):
    if x[i] > n:
        break
    s.c += 1  # here
y[0] = s.c
=== a while loop | the loop changes 's.c'
COUNTER
---
s = Counter()
while s.c < n:
    s.c += 1  # here
y[0] = s.c
=== the condition of a while loop | the loop changes 's.c'
COUNTER
---
s = Counter()
while s.tick() < n:
    y[0] = 1
y[1] = s.c
=== an iterator in the condition of a while loop | the loop takes items from 'it'
---
it = iter([1])
k = 0
while next(it, 0) + k < n:  # here
    k += 1
y[0] = k
=== a loop that only the run leaves | the loop changes 's.c'
COUNTER
---
s = Counter()
while True:
    s.c += 1  # here
    if x[s.c] > n:
        break
y[0] = s.c
=== a change that a jump leaves | the branch changes 's.c'
COUNTER
---
s = Counter()
for i in range(n):
    s.c += 1
    if x[i] > 5:
        break
    s.c -= 1  # here
y[0] = s.c
=== explicit words | the branch changes 's.c'
COUNTER
---
s = Counter()
for i in pto.range(n):
    with pto.if_(i > 2):
        s.c += 1  # here
y[0] = s.c
=== a memo | what 'MEMO' holds
MEMO = {}
def squared(k):
    if k not in MEMO:
        MEMO[k] = k * k  # here
    return MEMO[k]
---
for i in range(n):
    y[0] = squared(3)
=== a list that a cached function made | made
import functools
@functools.cache
def made():
    return []
---
for i in range(n):
    made().append(1)  # here
y[0] = len(made())
=== a cached property | items
import functools
class S:
    @functools.cached_property
    def items(self):
        return []
A = S()
---
for i in range(n):
    A.items.append(1)  # here
y[0] = len(A.items)
=== what is left of an iterator | the branch takes items from 'it'
---
it = iter([9, 30, 9, 9])
for v in it:  # here
    if v > n + x[1]:
        break
y[0] = len(list(it))
=== what is left of an iterator in an iterator | the branch takes items from 'it'
---
it = iter([9, 30, 9, 9])
for k, v in enumerate(it):  # here
    if v > n + x[1]:
        break
y[0] = len(list(it))
=== a change after one that is taken back | the loop changes 's.c'
COUNTER
---
s = Counter()
for i in range(n):
    s.c += 1
    y[0] = s.c
    s.c -= 1
    y[1] = s.c
    s.c += 5  # here
y[2] = s.c
=== a default list of a function found by its name | holds
from importlib import import_module
def g(p=[]):
    p.append(1)  # here
    return len(p)
---
for i in range(n):
    y[0] = import_module('state_of_tests').g()
=== random numbers of a function found by its name | holds
from importlib import import_module
import numpy as np
def g():
    return int(np.random.randint(99))  # here
---
for i in range(n):
    y[0] = int(np.int64(3)) + import_module('state_of_tests').g()
=== random numbers in a lambda | holds
import random
g = lambda: random.randrange(99)
---
for i in range(n):
    y[0] = g()  # here
=== a list found by its name, known to the loop around | the branch changes what 't' holds
from importlib import import_module
L = [1]
---
for i in range(n):
    y[0] = len(L)
    if i > 1:
        t = import_module('state_of_tests').L
        t.append(1)  # here
        t = 0
=== a list found by its name, made in the loop around | holds
from importlib import import_module
HELD = {}
def h(i):
    if i > 1:
        t = import_module('state_of_tests').HELD['k']
        t.append(1)  # here
        t = 0
---
for i in range(n):
    HELD['k'] = [1]
    h(i)
    y[0] = len(HELD['k'])
    del HELD['k']
=== a condition that changes something the first time | what 'DONE' holds
DONE = []
def first():
    if not DONE:
        DONE.append(1)  # here
        return 5
    return 0
---
k = 0
while first() + k < n:
    k += 1
y[0] = k
=== an iterable that counts | the loop changes 's.c'
class S:
    c = 0
    def __iter__(self):
        self.c += 1
        return iter((1, 2))
---
s = S()
for i in range(n):
    for v in s:  # here
        y[v] = i
y[0] = s.c
=== a zero of the other sign | the loop changes 's.c'
COUNTER
---
s = Counter()
s.c = 0.0
for i in range(n):
    s.c = -0.0  # here
y[0] = int(str(s.c) == '0.0')
=== a property of a base class | the loop changes what 'LOG' holds
LOG = []
class Base:
    @property
    def logged(self):
        LOG.append(1)
        return len(LOG)
class S(Base):
    pass
---
s = S()
for i in range(n):
    y[0] = s.logged  # here
=== a generator that ends | takes items from 'g'
---
g = (k for k in (1, 2))
if n > 1:
    k = len(list(g))  # here
y[0] = len(list(g))
"""

ACCEPTED_TEXT = """
=== the same method again
from types import SimpleNamespace
COUNTER
C = Counter()
S = SimpleNamespace(f=C.tick)
---
for i in range(n):
    S.f = C.tick
    y[i] = 1
=== an object that holds nothing
NOTHING = object()
---
for i in range(n):
    y[i] = 1 if NOTHING is not None else 2
=== known loops and branches
COUNTER
LOG = []
---
s = Counter()
for i in pto.static_range(3):
    if i != 1:
        s.tick(i)
        LOG.append(i)
y[0] = s.c
y[1] = len(LOG)
=== known loops and branches inside of others
COUNTER
---
for i in range(n):
    s = Counter()
    for k in pto.static_range(3):
        s.tick(k)
    y[i] = s.c + i
=== objects made inside
COUNTER
---
for i in range(n):
    s, seen = Counter(), []
    seen.append(i + 1)
    s.c = seen[0]
    seen.append(s)
    seen[1].c += 1
    y[i] = seen[1].c
if n > 2:
    d = {}
    d['a'] = n
    y[9] = d['a']
=== objects made for a call
def fill(p, k, q=None):
    p.append(k)
    q = [] if q is None else q
    q.append(p[0] + 1)
    return q
---
for i in range(n):
    y[i] = fill([], i)[0] + fill([i], 3)[0]
=== objects made by a function
COUNTER
def made(k):
    s = Counter()
    s.c = k
    return s
---
for i in range(n):
    s = made(i)
    s.c += 1
    s.tick(2)
    y[i] = s.c
=== what is taken back
STACK = []
class S:
    level = 0
    def __enter__(self):
        self.level += 1
        STACK.append(self)
    def __exit__(self, *error):
        self.level -= 1
        STACK.pop()
---
s = S()
s.level = 1
for i in range(n):
    with s:
        with s:
            y[i] = s.level + len(STACK)
y[9] = s.level
=== a value kept for a while
COUNTER
---
s = Counter()
for i in range(n):
    s.at = i * 2
    y[i] = s.at + 1
    del s.at
y[9] = s.c
=== the same value again
COUNTER
---
s = Counter()
for i in range(n):
    s.c = 0
    y[i] = s.c + i
=== cached functions of numbers
import functools
@functools.lru_cache
def squared(k):
    return k * k
@functools.cache
def pair(k):
    return (k, 'a')
---
for i in range(n):
    y[i] = squared(3) + pair(4)[0] + squared(3)
if n > 2:
    y[9] = squared(5)
=== printing
import logging
---
print('once', end='')
for i in range(n):
    logging.getLogger('a').debug('b')
=== a list that grows while it is walked
---
todo, k = [3, 1], 0
for v in todo:
    if v > 0:
        todo.append(v - 1)
    y[k] = v
    k += 1
y[20] = len(todo)
=== what break leaves of an iterator
---
it = iter([1, 2, 3, 4])
for v in it:
    if v == 2:
        break
y[0] = sum(it)
=== an endless iterator
import itertools
---
for v in itertools.count(3):
    y[v] = v + n
    if v == 6:
        break
=== a lazy generator
LOG = []
---
for v in (LOG.append(k) or len(LOG) for k in (5, 6, 7)):
    y[v] = 10 * len(LOG) + v
y[0] = len(LOG)
=== a generator of the module
LOG = []
def numbers():
    for k in (4, 5, 6):
        LOG.append(k)
        yield k
    LOG.append(0)
G = numbers()
---
for v in G:
    y[v] = len(LOG)
    if v == 5:
        break
y[0] = len(LOG)
y[1] = next(G)
y[2] = len(LOG)
=== two loops over one iterator
---
it = iter([1, 2, 3, 4, 5])
for a in it:
    for b in it:
        y[a] = b
        break
=== an iterator of one's own, item by item
class It:
    k = 3
    def __iter__(self):
        return self
    def __next__(self):
        self.k += 1
        if self.k > 7:
            raise StopIteration
        return self.k
---
it = It()
for v in it:
    y[v] = it.k
    it.k += 1
=== a loop that the run leaves
---
for k, v in enumerate([3, 30, 4, 5]):
    y[k] = v
    if v > n + x[1]:
        break
for v in [5, 6]:
    if x[v] > n:
        y[9] = v
        break
for v in (k + 1 for k in (1, 2)):
    if x[v] > n:
        break
    y[10] = v
=== a dictionary that is read
D = {'a': [1, 2]}
---
for i in range(n):
    y[i] = D['a'][1] + len(D.items())
=== iterators made inside
import itertools
---
for i in range(n):
    it = iter([1, 2, 3])
    y[i] = next(it) + sum(it) + sum(v for v in zip(*[iter([4, 5])] * 2).__next__())
    c = itertools.count()
    y[9] = next(c) + next(c)
=== random numbers made inside
import random
import numpy as np
---
for i in range(n):
    y[i] = random.Random(3).randrange(100) + int(np.random.default_rng(1).integers(50))
=== flags
import enum
class F(enum.Flag):
    A = 1
    B = 2
    C = 4
---
for i in range(n):
    y[i] = (F.A | F.C).value + F(6).value
=== variables of the module that Python assigns
COUNT = 0
class S:
    @property
    def tick(self):
        global COUNT
        COUNT += 1
        return COUNT
A = S()
---
y[0] = COUNT
y[1] = A.tick + A.tick
y[2] = COUNT
for i in range(n):
    y[3] = COUNT
=== variables around that Python assigns
def outer():
    count = 0
    def numbers():
        nonlocal count
        while True:
            count += 1
            yield count
    def read():
        return count
    return numbers(), read
G, read = outer()
---
y[0] = read()
y[1] = next(G)
y[2] = read()
=== an attribute that is asked for once
class S:
    asked = 0
    @property
    def make(self):
        self.asked += 1
        return lambda: [1, 2]
A = S()
---
for v in A.make():
    y[v] = A.asked
=== a loop of a known number of turns
COUNTER
---
s = Counter()
while s.c < 5:
    s.tick(2)
    y[s.c] = n
y[0] = s.c
=== tiles in objects
COUNTER
---
s = Counter()
s.t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)
for i in range(n):
    y[i] = s.c + len([s.t])
=== lists that are carried
---
a, b = [1, 2], 0
for i in range(n):
    a = [a[1], a[0] + i]
    b += a[0]
y[0] = a[0]
y[1] = a[1]
y[2] = b
a = list(a)
a.append(b)
y[3] = len(a)
=== what a known condition makes
COUNTER
---
for i in range(n):
    o = Counter()
    o.items = []
    while len(t := [*o.items, 1]) < 4:
        t.append(2)
        o.items = t
    y[i] = len(t)
=== a generator made inside
---
for i in range(n):
    for v in (k + 1 for k in (1, 2)):
        y[v] = y[v] + i
=== a context made inside
class Entered:
    times = 0
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.times += 1
---
for i in range(n):
    with Entered():
        y[i] = i
    with Entered() as e:
        y[9] = e.times
"""


def _cases(text: str) -> dict[str, tuple[str, str, str]]:
    """Name: text of the module, body, words."""
    found = {}
    for part in text.strip("\n").removeprefix("=== ").split("\n=== "):
        head, _, rest = part.partition("\n")
        name, _, words = head.partition(" | ")
        around, _, body = f"\n{rest}".partition("\n---\n")
        found[name] = f"{around}\n".replace("\nCOUNTER\n", COUNTER), body, words
    return found


REFUSED, ACCEPTED = _cases(REFUSED_TEXT), _cases(ACCEPTED_TEXT)
