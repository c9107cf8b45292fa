// What routes of groups have in common.
import * as z from 'zod';

export const groupStateShape = z.enum([
  'empty',
  'preparing-rebalance',
  'completing-rebalance',
  'assigning',
  'reconciling',
  'stable',
  'dead',
]);
